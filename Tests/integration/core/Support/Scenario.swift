import Foundation
import Testing

/// What several processes do with one center, told in C (`Tests/scenarios`, because they fork) and named by a sentence.
struct Scenario: CustomTestStringConvertible, Sendable {
    enum Kind: String {
        case plain, stepped, mounting, others, limited, retold, apart
    }

    let kind: Kind
    let name: String
    /// The file that holds it, or the condition under which it is told (`Tests/scenarios/scenarios.h`).
    let category: String

    /// Each ends itself much sooner, unless it was asked for every instruction.
    static var limit: TimeLimitTrait.Duration {
        ProcessInfo.processInfo.environment["TIDINGS_TEST_FULL"] == "1" ? .minutes(24 * 60) : .minutes(10)
    }

    var testDescription: String {
        name.replacing("_", with: " ")
    }

    /// All that `ScenarioPeer` lists.
    static func all() throws -> [Scenario] {
        let (status, list) = try ask("--list")
        guard status == 0 else { throw NoScenarios(what: "the list ended with status \(status)") }
        return try list.split(separator: "\n").map { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let kind = Kind(rawValue: words[0]) else { throw NoScenarios(what: String(line)) }
            return Scenario(kind: kind, name: words[1], category: words[2])
        }
    }

    /// Those of a kind. An empty list is an error: a test of it would pass because it does nothing.
    static func all(_ kind: Kind, _ group: Group? = nil) throws -> [Scenario] {
        let scenarios = try all().filter { $0.kind == kind && (group?.categories.contains($0.category) ?? true) }
        guard !scenarios.isEmpty else { throw NoScenarios(what: "\(kind) \(group.map { "\($0)" } ?? "")") }
        return scenarios
    }

    /// Whether the scenarios that need it may do that here.
    static func may(_ what: String) throws -> Bool {
        try ask("--may", what).status == 0
    }

    private static func ask(_ arguments: String...) throws -> (status: Int32, answer: String) {
        try answer(of: executable, arguments)
    }

    /// In a directory of its own, with a seed that is printed when it fails. Blocks no thread meanwhile.
    func tell(seed: UInt64 = .random(in: 1...1_000_000)) async throws {
        let directory = try TestDirectory()
        // Beside the directory, not in it: a scenario may look at everything there is in its own.
        let errors = directory.path + ".complaint"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = [name, String(seed), directory.path]
        try Data().write(to: URL(fileURLWithPath: errors))
        // A file, not a pipe: a process that inherits it and lives on keeps no reader waiting.
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
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("ScenarioPeer")
    }
}

/// Runs a program. Returns its status and what it printed, with its errors if `withErrors`.
///
/// It prints into a file, not a pipe: a process that another test starts at this moment inherits the pipe's end, and
/// would keep this reader waiting.
func answer(
    of executable: URL, _ arguments: [String], withErrors: Bool = false
) throws -> (status: Int32, answer: String) {
    let directory = try TestDirectory()
    let path = directory.path + "/answer"
    try Data().write(to: URL(fileURLWithPath: path))
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    process.standardOutput = output
    if withErrors { process.standardError = output }
    try process.run()
    process.waitUntilExit()
    let answer = try Data(contentsOf: URL(fileURLWithPath: path))
    return (process.terminationStatus, String(decoding: answer, as: UTF8.self))
}

struct NoScenarios: Error {
    let what: String
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
