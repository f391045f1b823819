import Foundation
import Testing

/// What several processes do with one center, told in C (`Tests/CTestPeer`, because they fork) and named by a sentence.
struct Story: CustomTestStringConvertible, Sendable {
    enum Kind: String {
        case plain, stepped, mounting, others, limited, retold, apart
    }

    let name: String

    /// Each ends itself much sooner, unless it was asked for every instruction.
    static var limit: TimeLimitTrait.Duration {
        ProcessInfo.processInfo.environment["TIDINGS_TEST_FULL"] == "1" ? .minutes(24 * 60) : .minutes(10)
    }

    var testDescription: String {
        name.replacing("_", with: " ")
    }

    /// As `CTestPeer` lists them, so that none can be written and then never told.
    static func all(_ kind: Kind) throws -> [Story] {
        let (status, list) = try ask("--list")
        let stories = list.split(separator: "\n").map { $0.split(separator: " ") }
            .filter { $0.first == Substring(kind.rawValue) }.map { Story(name: String($0[1])) }
        // An empty list would be a test that passes because it does nothing.
        guard status == 0, !stories.isEmpty else { throw NoStories(kind: kind) }
        return stories
    }

    /// Whether the stories that need it may do that here.
    static func may(_ what: String) throws -> Bool {
        try ask("--may", what).status == 0
    }

    private static func ask(_ arguments: String...) throws -> (status: Int32, answer: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = executable
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let answer = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, answer)
    }

    /// In a directory of its own, with a seed that is printed when it fails. Blocks no thread meanwhile.
    func tell(seed: UInt64 = .random(in: 1...1_000_000)) async throws {
        let directory = try TestDirectory()
        // Beside the directory, not in it: a story may look at everything there is in its own.
        let errors = directory.path + ".complaint"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = [name, String(seed), directory.path]
        try Data().write(to: URL(fileURLWithPath: errors))
        // A file, not a pipe: who inherits it and lives on keeps nobody waiting.
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        let complaint = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        let reason = process.terminationReason == .exit ? "status" : "signal"
        #expect(
            process.terminationReason == .exit && process.terminationStatus == 0,
            "\(testDescription), seed \(seed), ended with \(reason) \(process.terminationStatus): \(complaint)")
        withExtendedLifetime(directory) {}
    }

    /// Beside the tests' own executable.
    private static var executable: URL {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("CTestPeer")
    }
}

struct NoStories: Error {
    let kind: Story.Kind
}

/// A directory under /dev/shm, removed with the last reference.
final class TestDirectory: Sendable {
    let path: String

    init() throws {
        path = "/dev/shm/tidings-test-\(UUID().uuidString)"
        // Whatever the umask: a directory that a group may write to is refused.
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
