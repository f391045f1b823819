// The command `tidings serve`.
import ArgumentParser
import Dispatch
import Tidings
import TidingsAdministration

struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answer requests by a command.",
        discussion: """
            Runs the command of --exec by "sh -c" for each request. Its standard input is the request as JSON. What it \
            prints is the reply: as JSON if it is valid JSON, otherwise as text. If it does not end with status 0, the \
            caller is told so, and standard error reports it.

              tidings serve com.example.render --exec 'page=$(jq .page) && render "$page"'
              tidings request com.example.render --json '{"page": 3}' --timeout 2s

            With --lines each line that it prints is a reply, sent when the caller has asked for it:

              tidings serve com.example.log --lines --exec 'journalctl -f'
              tidings request com.example.log --stream

            Several servers may serve one name; one of them receives each request. If the caller stops waiting, \
            SIGTERM ends the command. Standard error reports when the name is served.

            If the center is removed, the command reports it and ends with status 1. SIGINT (Control-C) and SIGTERM \
            end the command with status 0; callers that wait are told that the server ended.
            """)

    @Argument(help: "The name of the requests: 1 to 238 bytes of UTF-8.")
    var name: String

    @OptionGroup var options: CenterOptions

    @Option(
        help: ArgumentHelp(
            """
            Run this by "sh -c" for each request. Its environment has TIDINGS_NAME, TIDINGS_CALLER (a process ID), and \
            TIDINGS_REPEATED (1 if another server ended with this request, otherwise 0).
            """, valueName: "command"))
    var exec: String

    @Flag(
        help: "Send each line that the command prints as a reply of its own. \"tidings request --stream\" prints them.")
    var lines = false

    @Option(
        help: ArgumentHelp(
            "How many requests to handle at a time. Default: the number of processors.", valueName: "n"))
    var concurrency: Int?

    func validate() throws {
        if let concurrency, concurrency < 1 { throw ValidationError("--concurrency must be at least 1.") }
    }

    func run() throws {
        let finish = Finish()
        finish.includeSignals()
        let center = try options.open()
        finish.includeEnd(of: center)
        let limit = Int(clamping: try center.statistics.maximumPayloadSize)
        let server = try center.serve(name: Center.Name(name), options: .init(concurrency: concurrency)) {
            [name, exec, lines] payload, envelope, writer in
            try await ServedCommand.run(
                exec, for: payload, of: name, envelope, limit: limit, writingLinesTo: lines ? writer : nil)
        }
        Terminal.note("serving \(name) in center \(options.center)")
        let reason = finish.wait()
        end(server)
        if case .failed(let line) = reason { throw Failure(line) }
    }

    /// Waits for the commands, which SIGTERM ends, but for one second at most.
    private func end(_ server: Center.Server) {
        let ended = DispatchSemaphore(value: 0)
        Task {
            await server.cancelAndWait()
            ended.signal()
        }
        if ended.wait(timeout: .now() + .seconds(1)) != .success { Terminal.note("a command is still running") }
    }
}
