import Foundation
import Testing

/// What several processes do with one center, told in C (`Tests/CTestPeer`, because they fork) and named by a sentence.
struct Story: CustomTestStringConvertible, ExpressibleByStringLiteral, Sendable {
    let name: String

    init(stringLiteral sentence: String) {
        name = sentence.replacing(" ", with: "_")
    }

    var testDescription: String {
        name.replacing("_", with: " ")
    }

    /// In a directory of its own, with a seed that is printed when it fails. Blocks no thread meanwhile.
    func tell(seed: UInt64 = .random(in: 1...1_000_000)) async throws {
        let directory = try TestDirectory()
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = [name, String(seed), directory.path]
        let errors = directory.path + "/complaint"
        FileManager.default.createFile(atPath: errors, contents: nil)
        // A file, not a pipe: who inherits it and lives on keeps nobody waiting.
        process.standardError = FileHandle(forWritingAtPath: errors)
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

/// One story of each half at a time: each keeps two processors busy at most.
@Suite(.serialized) enum Stories {}
/// Those that go instruction by instruction.
@Suite(.serialized) enum SteppedStories {}

/// A directory under /dev/shm, removed with the last reference.
final class TestDirectory: Sendable {
    let path: String

    init() throws {
        path = "/dev/shm/tidings-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
