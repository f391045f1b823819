// The command `tidings post`.
import ArgumentParser
import Tidings
import TidingsAdministration

struct Post: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Post a notification.",
        discussion: """
            Without a payload option the payload is empty. A Swift program decodes JSON as the type that it observes:

              tidings post com.example.player.trackChanged --json '{"title":"So What","artist":"Miles Davis"}'
              jq -n '{title: "So What"}' | tidings post com.example.player.trackChanged --json -

            In this JSON a date is a number of seconds since 1970, as "tidings observe" prints it.

            To post one notification for each line of another command's output, as text or as JSON:
              inotifywait -m /srv/in | tidings post com.example.files --stdin-lines
              jq -c '.[]' tracks.json | tidings post com.example.track --json-lines

            Without a name, --json-lines posts again what "tidings observe --format json" has printed: names, \
            subjects, payloads, and that a value is retained or cleared. Notifications that were missed are reported; \
            notices of presence and requests are left out.

              tidings observe --all --format json >log
              tidings post --json-lines <log

            With --require-observer nothing is posted and the status is 3 if no process observes the name, also by a \
            prefix. Observers of all names, and those that may only read, are not counted.
            """)

    @Argument(
        help: "The notification's name: 1 to 255 bytes of UTF-8.", completion: .custom(Completions.observedNames))
    var name: String?

    @OptionGroup var options: CenterOptions

    @Option(help: "The payload, as JSON. The text must be valid JSON, and is posted unchanged. -: standard input.")
    var json: String?

    @Option(help: "The payload, as text.")
    var text: String?

    @Option(
        help: ArgumentHelp(
            "The payload: one CBOR item (RFC 8949), the bytes of this file. -: standard input.", valueName: "path"),
        completion: .file())
    var cbor: String?

    @Option(
        help: ArgumentHelp("The payload: the bytes of this file. -: standard input.", valueName: "path"),
        completion: .file())
    var file: String?

    @Flag(help: "Post each line of standard input as text, as soon as it is complete.")
    var stdinLines = false

    @Flag(
        help: """
            Post each line of standard input as JSON, as soon as it is complete. Without a name: each line is a \
            notification as "tidings observe --format json" prints it.
            """)
    var jsonLines = false

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

    @Flag(help: "Post only if a process observes the name; otherwise end with status 3.")
    var requireObserver = false

    @Flag(
        name: [.short, .long],
        help: "Print the position of each notification in the order, and how many observers its name has.")
    var verbose = false

    func validate() throws {
        let payloads = [json != nil, text != nil, cbor != nil, file != nil, stdinLines, jsonLines].filter { $0 }.count
        guard payloads <= 1 else {
            throw ValidationError(
                "Give at most one of --json, --text, --cbor, --file, --stdin-lines and --json-lines.")
        }
        guard name != nil || jsonLines else { throw ValidationError("Give the notification's name.") }
        guard name != nil || subject == nil && !retain else {
            throw ValidationError("Without a name, each line has its own subject, and --retain and --subject don't go.")
        }
        guard count >= 1 else { throw ValidationError("--count must be at least 1.") }
        guard count == 1 || !stdinLines && !jsonLines else {
            throw ValidationError("--count doesn't go with \(jsonLines ? "--json-lines" : "--stdin-lines").")
        }
        guard !retain || subject == nil else {
            throw ValidationError(
                "--retain doesn't go with --subject: a name has one value; put the subject into the name.")
        }
        if let json, json != "-", !isJSON(json) {
            throw ValidationError("What follows --json isn't JSON: \(json.printable)")
        }
    }

    func run() throws {
        let center = try requireObserver ? openObserved() : options.open()
        if stdinLines || jsonLines { return try postLines(to: center) }
        let payload = try payload(for: center)
        for _ in 0..<count { try post(payload, to: center) }
    }

    /// A center without processes has no observer: it is not created.
    private func openObserved() throws -> Center {
        do {
            return try options.openExisting()
        } catch let error as SharedNotificationError where error.code == .notFound {
            throw try unobserved(name)
        }
    }

    private func unobserved(_ name: String?) throws -> ExitCode {
        let what = name.map { "can't post \($0)" } ?? "can't post"
        Terminal.note("\(what): no process observes it in center \(options.center); nothing was posted")
        return ExitCode(3)
    }

    private func post(_ payload: Center.RawPayload, to center: Center) throws {
        try post(PostedLine(name: name ?? "", subject: subject, payload: payload, isRetained: retain), to: center)
    }

    private func post(_ line: PostedLine, to center: Center) throws {
        let observers =
            try verbose || requireObserver ? center.observers(of: Center.Name(line.name), subject: line.subject) : 0
        #if MUTANT_POSTED_UNOBSERVED  // Found by: command withoutAnObserverTheStatusIs3
            if isMutant("POSTED_UNOBSERVED") {
                _ = try line.post(to: center, timeout: timeout)
                return
            }
        #endif
        if requireObserver, observers == 0 { throw try unobserved(line.name) }
        let sequence = try line.post(to: center, timeout: timeout)
        guard verbose else { return }
        let what = sequence.map { "posted #\($0)" } ?? "cleared"
        try Terminal.print("\(what), \(counted(observers, "observer")) of the name")
    }

    private func postLines(to center: Center) throws {
        // A character of a payload takes six bytes in JSON at most. The rest of a line is shorter than 64 KiB.
        var lines = LineReader(limit: 6 * Int(clamping: try center.statistics.maximumPayloadSize) + 65_536)
        var omitted = 0
        defer { if omitted > 0 { Terminal.note(PostedLine.omitted(omitted)) } }
        while let line = try lines.next() {
            do {
                if stdinLines {
                    try post(.text(String(decoding: line, as: UTF8.self)), to: center)
                } else {
                    omitted += try post(json: Array(line), to: center) ? 0 : 1
                }
            } catch let error as Failure {
                #if MUTANT_BAD_LINE_SKIPPED  // Found by: command aBadLineEndsThePosts
                    if isMutant("BAD_LINE_SKIPPED") { continue }
                #endif
                throw Failure("can't post line \(lines.number) of standard input: \(error)")
            } catch let error as SharedNotificationError {
                throw Failure("\(error.line) (line \(lines.number) of standard input)")
            }
        }
    }

    /// - Returns: false if the line is left out, because the library itself posts such notifications.
    private func post(json line: [UInt8], to center: Center) throws -> Bool {
        let begin = { String(decoding: line.prefix(80), as: UTF8.self).printable }
        guard name == nil else {
            guard isJSON(line) else { throw Failure("it isn't JSON: \(begin())") }
            try post(Center.RawPayload(format: .json, bytes: line), to: center)
            return true
        }
        switch PostedLine.read(line) {
        case .notification(let line) where line.isOfLibrary: return false
        case .notification(let line): try post(line, to: center)
        case .missed(let count): Terminal.note("the observer that wrote standard input missed \(count) notifications")
        case .reopened: Terminal.note("the observer that wrote standard input went on in another center")
        case .ended: Terminal.note("the center of the observer that wrote standard input ended")
        case nil: throw Failure("it isn't a notification as \"tidings observe --format json\" prints it: \(begin())")
        }
        return true
    }

    private func payload(for center: Center) throws -> Center.RawPayload {
        if let text { return .text(text) }
        // One byte more than the limit is enough for the error that the payload is too large, whatever the file's size.
        let limit = Int(clamping: try center.statistics.maximumPayloadSize) + 1
        if let json { return try jsonPayload(json, upTo: limit) }
        if let cbor {
            let payload = Center.RawPayload(format: .cbor, bytes: try contents(of: cbor, upTo: limit))
            guard !payload.isHexadecimal(payload.json) || payload.count == limit else {
                let what = cbor == "-" ? "standard input" : cbor.printable
                throw Failure("can't post \(what): it isn't one item of CBOR (RFC 8949)")
            }
            return payload
        }
        guard let file else { return .empty }
        return Center.RawPayload(format: .bytes, bytes: try contents(of: file, upTo: limit))
    }
}

extension Center {
    /// How many observers a notification of that name and subject has, as far as the center lists them by name: those
    /// of the name and of its prefixes. Observers of all names, and readers, are not listed.
    fileprivate func observers(of name: Name, subject: String?) throws(SharedNotificationError) -> Int {
        try observedNames.filter { observed in
            #if MUTANT_PREFIXES_NOT_COUNTED  // Found by: command verboseCountsObserversOfTheNameAndItsPrefixes
                if isMutant("PREFIXES_NOT_COUNTED"), observed.isPrefix { return false }
            #endif
            let bytes = observed.name.rawValue.utf8
            let fits =
                observed.isPrefix ? name.rawValue.utf8.starts(with: bytes.dropLast()) : observed.name == name
            return fits && (observed.subject == nil || observed.subject == subject)
        }
        .reduce(0) { $0 + $1.observers }
    }
}
