import ArgumentParser
import Foundation

/// Makes the directory of a benchmark, and removes it when everybody has gone who could write to its standard input.
struct BenchJanitor: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-janitor", abstract: "A process of the benchmark.", shouldDisplay: false)

    @Argument var directory: String

    func run() throws {
        // What ends a benchmark from a terminal, or kills its process group, isn't meant for us.
        setsid()
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_IGN) }
        guard mkdir(directory, 0o700) == 0 else { throw Failure("can't make \(directory)", errno: errno) }
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // If nobody reads it any more, the next line finds out too.
        _ = withUnsafeBytes(of: UInt8(1)) { Terminal.writeAll($0, to: STDOUT_FILENO) }
        var nothing: UInt8 = 0
        while true {
            let count = read(STDIN_FILENO, &nothing, 1)
            if count == 0 || count < 0 && errno != EINTR { return }
        }
    }
}
