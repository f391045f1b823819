import ArgumentParser
import Foundation

/// Makes the directory of a benchmark, and removes it when no process can write to its standard input any more.
struct BenchJanitor: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-janitor", abstract: "A process of the benchmark.", shouldDisplay: false)

    @Argument var directory: String

    func run() throws {
        // Signals from the terminal and to the process group end the benchmark, not this process.
        setsid()
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_IGN) }
        guard mkdir(directory, 0o700) == 0 else { throw Failure("can't make \(directory)", errno: errno) }
        #if MUTANT_BENCH_DIRECTORY_LEFT  // Found by: command leavesNothingWhenItEndsEarly
            let directory = isMutant("BENCH_DIRECTORY_LEFT") ? self.directory + ".other" : self.directory
        #endif
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // If no process reads this any more, the next read ends as well.
        _ = withUnsafeBytes(of: UInt8(1)) { Terminal.writeAll($0, to: STDOUT_FILENO) }
        var nothing: UInt8 = 0
        while true {
            let count = read(STDIN_FILENO, &nothing, 1)
            if count == 0 || count < 0 && errno != EINTR { return }
        }
    }
}
