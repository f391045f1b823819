// The entry point of the command `tidings`, and its exit status.
import ArgumentParser
import ChildProcesses
import Glibc
import Tidings
import TidingsExtensions

typealias Center = SharedNotificationCenter

@main
struct TidingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidings",
        abstract: "Notifications with typed payloads between the processes of one machine.",
        discussion: """
            In one terminal:
              tidings observe com.example.changed

            In another:
              tidings post com.example.changed --json '{"volume": 0.5}'

            Centers are files in $TIDINGS_DIRECTORY, or else in /dev/shm. Exit status: 0 done, 1 failed (one line on \
            standard error says why), 2 timeout of "observe --timeout" with fewer notifications than --count, or of \
            "request --timeout", 3 no observer for "post --require-observer", 64 wrong usage.
            """,
        version: "0.2.0",
        subcommands: [
            Demo.self, Post.self, Observe.self, Record.self, Replay.self, Request.self, Serve.self, State.self,
            Create.self, Centers.self, RelayCommand.self, Stat.self, Top.self, Doctor.self, Remove.self, Bench.self,
            DemoExtension.self,
            DemoPoster.self, BenchPeer.self, BenchWorker.self, BenchJanitor.self,
        ])

    static func main() {
        // If the program that reads the output has ended, write() fails with an error, which the commands handle. The
        // signal would end the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch is BrokenPipe {
            // The program that reads the output has ended, as in `tidings centers | head -1`. This is no failure.
        } catch let error as SharedNotificationError {
            fail(error.line)
        } catch let error as ExtensionError {
            fail(error.message)
        } catch let error as Failure {
            fail(error.description)
        } catch let error as ChildProcess.Failure {
            fail(error.description)
        } catch {
            // Help and the version end with status 0, wrong usage with 64, an `ExitCode` with its own value.
            exit(withError: error)
        }
    }

    private static func fail(_ line: String) -> Never {
        Terminal.note(line)
        Glibc.exit(1)
    }
}

/// A failure that is reported in one line on standard error, with exit status 1.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Creates the line from the attempted action and the operating system's error.
    init(_ what: String, errno code: Int32) {
        description = "\(what): \(String(cString: strerror(code)))"
    }
}
