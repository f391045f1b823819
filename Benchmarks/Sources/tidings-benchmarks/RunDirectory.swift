import CTidingsBench
import Foundation

/// The directory that a run's centers and arenas live in: of its own, in shared memory, and gone afterwards however the
/// run ended.
enum RunDirectory {
    private static let variable = "TIDINGS_DIRECTORY"
    private static let parent = "/dev/shm"
    private static let prefix = "tidings-benchmarks."

    /// Set in the runner and its peers, where Tidings finds it too.
    static var current: String? {
        guard let path = ProcessInfo.processInfo.environment[variable], path.hasPrefix("\(parent)/\(prefix)") else {
            return nil
        }
        return path
    }

    /// Runs this program again as the runner, and removes the directory when it has ended, also when it crashed or was
    /// killed.
    static func supervise() throws -> Int32 {
        removeOrphans()
        let path = "\(parent)/\(prefix)\(getpid())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        setenv(variable, path, 1)
        let status = withCStrings(CommandLine.arguments) { bench_supervise($0) }
        if status == 128 + SIGALRM { note("a measurement hung and was ended") }
        return status < 0 ? 1 : status
    }

    /// What runs left behind whose supervisor itself was killed.
    private static func removeOrphans() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
            guard let owner = pid_t(name.dropFirst(prefix.count)), kill(owner, 0) != 0, errno == ESRCH else { continue }
            try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
        }
    }
}

/// One line on standard error.
func note(_ text: String) {
    FileHandle.standardError.write(Data("tidings-benchmarks: \(text)\n".utf8))
}

func withCStrings<Result>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { UnsafePointer($0) } + [nil])
}
