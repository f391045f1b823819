import ChildProcesses
import Foundation
import Testing

/// What several processes do with one center, told in C (`Tests/scenarios`, because they fork) and named by a sentence.
struct Scenario: CustomTestStringConvertible, Sendable {
    enum Kind: String {
        case plain, stepped, mounting, others, limited, large, retold, apart
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
        // A file, not a pipe: a process that inherits it and lives on keeps no reader waiting.
        let process = try start(Self.executable, [name, String(seed), directory.path], errors: errors)
        let ending = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: process.waitUntilEnded()) }
        }
        let complaint = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        #expect(ending == .exited(0), "\(testDescription), seed \(seed), \(ending): \(complaint)")
        withExtendedLifetime(directory) {}
    }

    /// Beside the tests' own executable.
    private static var executable: String { executableOfThisPackage("ScenarioPeer") }
}

/// The path of a program beside the tests' own executable.
func executableOfThisPackage(_ name: String) -> String {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
}

/// Starts a program that prints into new files; `nil`: to the output of this process.
///
/// Foundation's `Process` is not used: it learns of an end by a socket. A child that another thread starts meanwhile
/// keeps that socket open, and the waiting thread would wait for the end of that child too.
private func start(
    _ executable: String, _ arguments: [String], output: String? = nil, errors: String? = nil
) throws -> ChildProcess {
    var files: [String: FileHandle] = [:]
    for path in [output, errors].compactMap(\.self) where files[path] == nil {
        try Data().write(to: URL(fileURLWithPath: path))
        files[path] = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }
    return try withExtendedLifetime(files) {
        try ChildProcess.start(
            executable, arguments, output: output.flatMap { files[$0]?.fileDescriptor },
            errors: errors.flatMap { files[$0]?.fileDescriptor }, keepsOthers: false)
    }
}

/// Runs a program. Returns its status, or the negative number of the signal that killed it, and what it printed. That
/// includes its errors if `withErrors`.
///
/// It prints into a file, not a pipe: a process that another test starts at this moment inherits the pipe's end, and
/// would keep this reader waiting.
func answer(
    of executable: String, _ arguments: [String], withErrors: Bool = false
) throws -> (status: Int32, answer: String) {
    let directory = try TestDirectory()
    let path = directory.path + "/answer"
    let ending = try start(executable, arguments, output: path, errors: withErrors ? path : nil).waitUntilEnded()
    let answer = try String(decoding: Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    switch ending {
    case .exited(let status): return (status, answer)
    case .killed(let signal): return (-signal, answer)
    }
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
