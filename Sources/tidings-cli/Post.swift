// The command `tidings post`.
import ArgumentParser
import Foundation
import Tidings
import TidingsAdministration

struct Post: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Post a notification.",
        discussion: """
            Without a payload option the payload is empty. A Swift program decodes JSON as the type that it observes:

              tidings post com.example.player.trackChanged --json '{"title":"So What","artist":"Miles Davis"}'

            In this JSON a date is a number of seconds since 1970, as "tidings observe" prints it.

            To post one notification for each line of another command's output:
              inotifywait -m /srv/in | tidings post com.example.files --stdin-lines
            """)

    @Argument(
        help: "The notification's name: 1 to 255 bytes of UTF-8.", completion: .custom(Completions.observedNames))
    var name: String

    @OptionGroup var options: CenterOptions

    @Option(help: "The payload, as JSON. The text must be valid JSON, and is posted unchanged.")
    var json: String?

    @Option(help: "The payload, as text.")
    var text: String?

    @Option(help: ArgumentHelp("The payload: the bytes of this file.", valueName: "path"), completion: .file())
    var file: String?

    @Flag(help: "Post each line of standard input as text, as soon as it is complete.")
    var stdinLines = false

    @Option(help: "The subject of the notification. An observer can observe one subject only.")
    var subject: String?

    @Flag(
        help: """
            Make it the name's retained value: observers that register later receive it, until a new value replaces \
            it. Not with --subject.
            """)
    var retain = false

    @Option(help: ArgumentHelp("Post it this number of times.", valueName: "n"))
    var count = 1

    @Option(
        help: ArgumentHelp("How long a post may wait for a lossless observer: 500ms, 2s.", valueName: "duration"))
    var timeout: Seconds?

    func validate() throws {
        let payloads = [json != nil, text != nil, file != nil, stdinLines].filter { $0 }.count
        guard payloads <= 1 else {
            throw ValidationError("Give at most one of --json, --text, --file and --stdin-lines.")
        }
        guard count >= 1 else { throw ValidationError("--count must be at least 1.") }
        guard count == 1 || !stdinLines else { throw ValidationError("--count doesn't go with --stdin-lines.") }
        guard !retain || subject == nil else {
            throw ValidationError(
                "--retain doesn't go with --subject: a name has one value; put the subject into the name.")
        }
        if let json, !isJSON(json) { throw ValidationError("What follows --json isn't JSON: \(json.printable)") }
    }

    func run() throws {
        let center = try options.open()
        if stdinLines {
            while let line = readLine() { try post(.text(line), to: center) }
        } else {
            let payload = try payload(for: center)
            for _ in 0..<count { try post(payload, to: center) }
        }
    }

    private func post(_ payload: Center.RawPayload, to center: Center) throws {
        try center.post(
            name: Center.Name(name), payload: payload,
            options: .init(subject: subject, retain: retain, timeout: timeout.map { .seconds($0.value) }))
    }

    private func payload(for center: Center) throws -> Center.RawPayload {
        if let json { return .json(json) }
        if let text { return .text(text) }
        guard let file else { return .empty }
        // One byte more than the limit is enough for the error that the payload is too large, whatever the file's size.
        let limit = Int(clamping: try center.statistics.maximumPayloadSize)
        return Center.RawPayload(format: .bytes, bytes: try contents(of: file, upTo: limit + 1))
    }
}

/// Whether the text is one JSON value.
func isJSON(_ text: String) -> Bool {
    (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
}
