// The command `tidings request`.
import ArgumentParser
import Dispatch
import Foundation
import Tidings

struct Request: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a request, and print the reply as JSON.",
        discussion: """
            Without --json the request is empty. A Swift program decodes JSON as the type that it serves:

              tidings request com.example.render --json '{"page": 3}' --timeout 2s
              jq -n '{page: 3}' | tidings request com.example.render --json -

            With --stream it prints each reply of a server that sends several, one on each line, and asks for the next \
            one when that is printed.

            Fails with status 1 at once if no process serves the name, and as soon as its server ends without a reply. \
            Without --timeout it waits for a reply without end.
            """)

    @Argument(help: "The name of the requests: 1 to 238 bytes of UTF-8.")
    var name: String

    @OptionGroup var options: CenterOptions

    @Option(help: "The request, as JSON. The text must be valid JSON, and is sent unchanged. -: standard input.")
    var json: String?

    @Option(
        help: ArgumentHelp("How long to wait for a reply: 250ms, 3s. Then the status is 2.", valueName: "duration"))
    var timeout: Seconds?

    @Flag(help: "If the server ends without a reply, another one may carry out the request again.")
    var idempotent = false

    @Flag(help: "Print any number of replies.")
    var stream = false

    func validate() throws {
        if let json, json != "-", !isJSON(json) {
            throw ValidationError("What follows --json isn't JSON: \(json.printable)")
        }
    }

    func run() throws {
        // 1 GiB: no center accepts more, whatever its maximum is.
        let payload = try json.map { try jsonPayload($0, upTo: 1 << 30) } ?? .empty
        // A center without processes has no server: it is not created.
        let center = try options.openExisting()
        do {
            try blocking { [self] in
                let name = Center.Name(name)
                let timeout = timeout.map { Duration.seconds($0.value) }
                let options = Center.RequestOptions(idempotent: idempotent)
                if stream {
                    for try await reply in center.replies(
                        name: name, payload: payload, timeout: timeout, options: options)
                    { try Terminal.print(reply.json.printable) }
                } else {
                    let reply = try await center.request(
                        name: name, payload: payload, timeout: timeout, options: options)
                    try Terminal.print(reply.json.printable)
                }
            }
        } catch let error as SharedNotificationError where error.code == .timedOut {
            Terminal.note(error.line)
            throw ExitCode(2)
        }
    }
}
