// The command `tidings observe`.
import ArgumentParser
import Dispatch
import Foundation
import Tidings
import TidingsAdministration

struct Observe: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print notifications as they arrive.",
        discussion: """
            Prints one line for each notification, at once; in a stream of notifications, those of a millisecond \
            together. A notification that was not posted today has its date and time zone. Standard error reports when \
            the observer is registered (every notification posted after that line is printed), and how many \
            notifications the observer missed.

              tidings observe com.example.changed
              tidings observe 'com.example.*'
              tidings observe --all --format json | jq .payload
              tidings observe com.example.track --template '{{.name}} {{.payload.title}}'
              tidings observe --all --summary
              tidings observe --all --since 5m
              tidings observe com.example.saved --count 1 --timeout 10s && echo saved
              tidings observe com.example.saved --exec 'p=$(jq -r .path); process -- "$p"'

            A name that ends in * stands for all names with the prefix before the * (quote it, or the shell searches \
            for files). Posts under other names do not wake the command. With --read-only and such a name, posts under \
            every name wake it: the command prints only the requested notifications, but the number of missed ones \
            counts all names. Retained values (post --retain, state set) come first, in the order of their posts.

            With --format json, objects without a sequence stand where notifications were missed, \
            {"missed":7,"name":"com.example.*"} (name null: of all observed names together), where the command goes on \
            in another center, {"reopened":"1f"}, and at the end of the center, {"ended":"removed","message":"…"}. \
            --count does not count them.

            With --exec, the commands run one at a time, in the order of the notifications. Meanwhile, up to 8,192 \
            notifications or 64 MiB wait; then the oldest are dropped and reported as missed. If a command fails, \
            standard error reports it, and the next notification runs the command again.

            With --presence, the command prints one line for each participant that is announced, and then one for each \
            that joins, closes, or dies: the event, the process, its executable and its role. Programs announce \
            themselves through the library; --announce announces this command.

              tidings observe --presence
              tidings observe --presence --format json | jq 'select(.event == "died")'
              tidings observe --all --announce logger

            If the center is removed, the command reports it and ends with status 1. With --follow it goes on in the \
            next center of that name, which it creates if the center is yours; with --read-only, or for another owner, \
            it waits for the next center. It reports when it goes on, and begins with the retained values there. If a \
            file that is not a center takes the name, the command ends with status 1.

            SIGINT (Control-C), SIGTERM and the end of the program that reads the output end the command with status \
            0. If a command of --exec is running then, it has one second to end. After that second it keeps running, \
            and no other command is started.
            """)

    enum From: String, ExpressibleByArgument, CaseIterable {
        case now, oldest
    }

    enum Origin: String, ExpressibleByArgument, CaseIterable {
        case any, local, remote

        var filter: Center.OriginFilter {
            switch self {
            case .any: .any
            case .local: .local
            case .remote: .remote
            }
        }
    }

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case pretty, json
    }

    @Argument(
        help: "The names to observe; com.example.* for all names with the prefix com.example.",
        completion: .custom(Completions.observedNames))
    var names: [String] = []

    @OptionGroup var options: CenterOptions

    @Flag(
        name: .customLong("read-only"),
        help: """
            Open the center for reading only, as for a center whose owner permits other users to observe it (mode 0644 \
            or 0640).
            """)
    var isReadOnly = false

    @Flag(
        help: """
            When the center is removed, go on in the next center of its name, as tail -F does, instead of ending with \
            status 1.
            """)
    var follow = false

    @Flag(help: "Observe all names.")
    var all = false

    @Flag(
        help: """
            Print the participants that are announced, and how that changes, instead of notifications. The event is \
            joined, closed (also by an exit) or died; left, if the reason was lost.
            """)
    var presence = false

    @Option(
        help: ArgumentHelp(
            "Announce this command with this role, a text of up to 64 bytes, while it runs.", valueName: "role"))
    var announce: String?

    @Option(
        help: ArgumentHelp(
            "End after this number of notifications (with --presence or --summary: of lines).", valueName: "n"))
    var count: Int?

    @Option(
        help: ArgumentHelp(
            "End after this time (10s, 500ms, 2m), with status 2 if there were fewer than --count.",
            valueName: "duration"))
    var timeout: Seconds?

    @Option(help: "Start with the next notification that is posted, or with the oldest one in the ring.")
    var from = From.now

    @Option(
        help: ArgumentHelp(
            """
            Start after the notification with this sequence (42, or 42@INCARNATION, which fails if the center is \
            another one by now), or with those in the ring that were posted at most so long ago: 500ms, 2s, 5m, 1h.
            """, valueName: "sequence|duration"))
    var since: Since?

    @Flag(
        help: """
            Hold posters back instead of missing notifications. A post then waits for this command until its timeout, \
            or fails at once.
            """)
    var lossless = false

    @Flag(
        help: """
            Print one line in each second instead of notifications: how many came, and how many bytes their payloads \
            have; how many were missed; and the most frequent names.
            """)
    var summary = false

    @Option(help: "Observe only notifications posted with this subject.")
    var subject: String?

    @Option(
        help: """
            Observe only notifications that were posted in this center, or only those that a relay has brought from \
            another one.
            """)
    var origin = Origin.any

    @Option(
        help: """
            pretty, or json: one object per line with sequence, name, subject (or null), payload, postedAt (UTC), pid \
            and uid; also retained or cleared if true, origin if a relay has brought it, and format (a number) if the \
            payload has no JSON form but the hexadecimal digits of its bytes. With --presence: event, pid, uid, id, \
            role and executable.
            """)
    var format = Format.pretty

    @Option(
        help: ArgumentHelp(
            """
            Print lines of this form: {{.name}}, {{.payload.title}}, {{.payload.tracks.0}}. Fields: sequence, \
            incarnation, name, subject, payload, postedAt, pid, uid, executable, retained, cleared, and host and \
            center of a relayed notification. A missing value is empty.
            """, valueName: "text"))
    var template: Template?

    @Option(
        help: ArgumentHelp(
            """
            Run this by "sh -c" for each notification, one at a time and in order. Its standard input is the payload \
            as JSON; its environment has TIDINGS_NAME, TIDINGS_SEQUENCE and TIDINGS_SUBJECT.
            """, valueName: "command"))
    var exec: String?

    func validate() throws {
        if presence {
            guard names.isEmpty, !all, subject == nil, from == .now, since == nil, exec == nil, !lossless, !summary,
                template == nil
            else {
                throw ValidationError(
                    "With --presence, give no names, --all, --subject, --from, --since, --exec, --lossless, --summary "
                        + "or --template.")
            }
        } else if names.isEmpty != all {
            throw ValidationError(
                all ? "Give names or --all, not both." : "Give the names to observe, --all, or --presence.")
        }
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
        guard since == nil || from == .now else { throw ValidationError("Give --since or --from, not both.") }
        guard !lossless || !isReadOnly else {
            throw ValidationError("--lossless doesn't go with --read-only: a reader can't hold posters back.")
        }
        guard template == nil || format == .pretty else {
            throw ValidationError("Give --template or --format, not both.")
        }
        guard !summary || exec == nil && template == nil else {
            throw ValidationError("--summary doesn't go with --exec and --template.")
        }
    }

    func run() throws {
        let finish = Finish()
        finish.includeSignals()
        let center = try isReadOnly ? options.openToRead(follow: follow) : options.open(follow: follow)
        let name = options.center
        let lines = LineOutput(limit: count, isDirect: exec != nil, finish: finish)
        let isJSON = format == .json
        center.onDiagnostic = { diagnostic in
            switch diagnostic {
            case .dispatchFailed(let error):
                if isJSON { lines.print(NotificationText.ended(error), counts: false) }
                let hint = error.code == .removed && !follow ? ", or use --follow" : ""
                finish.end(.failed(error.line + hint))
            case .reopened(let incarnation):
                if isJSON { lines.print(NotificationText.reopened(incarnation), counts: false) }
                Terminal.note(
                    "center \(name) was removed; observing the next one (incarnation \(String(incarnation, radix: 16)))"
                )
            default: break
            }
        }
        // Ends when the command does: before its process exits, which would end it, too.
        let announcement = try announce.map { role throws(SharedNotificationError) in try center.announce(role: role) }
        defer { announcement?.withdraw() }
        let counts = summary ? Summary() : nil
        let end = try presence ? observePresence(of: center, lines) : observeNames(of: center, finish, lines, counts)

        let reason = wait(finish, printing: counts, to: lines)
        lines.close(after: reason)
        finish.end(.complete)
        end()
        switch reason {
        case .failed(let line): throw Failure(line)
        case nil where count != nil: throw ExitCode(2)
        default: return
        }
    }

    /// Waits for the end of the command, and prints the counts in each second.
    ///
    /// - Returns: `nil`: the time is over.
    private func wait(_ finish: Finish, printing counts: Summary?, to lines: LineOutput) -> Finish.Reason? {
        guard let counts else { return finish.wait(seconds: timeout?.value) }
        let clock = ContinuousClock()
        let end = timeout.map { clock.now + .seconds($0.value) }
        var last = clock.now
        while true {
            let rest = end.map { ($0 - clock.now) / .seconds(1) } ?? .infinity
            let reason = finish.wait(seconds: max(0, min(1, rest)))
            let seconds = (clock.now - last) / .seconds(1)
            let isOver = reason != nil || rest <= 1
            if !isOver || !counts.isEmpty {
                last = clock.now
                lines.print(Array(counts.line(after: seconds, json: format == .json).utf8), isLast: isOver)
            }
            if isOver { return reason }
        }
    }

    private var style: NotificationText.Style {
        template.map { .template($0) } ?? (format == .json ? .json : .pretty)
    }

    /// - Returns: what ends observing.
    private func observeNames(
        of center: Center, _ finish: Finish, _ lines: LineOutput, _ counts: Summary?
    ) throws -> () -> Void {
        let printer = NotificationPrinter(style, command: exec, lines: lines)
        let selection = NameSelection(all ? nil : names)
        // A reader cannot register prefixes by which posters would wake it. It observes all names, and filters here.
        let isFiltered = isReadOnly && !selection.prefixes.isEmpty
        let start = start(in: center)
        #if MUTANT_OBSERVE_NOT_LOSSLESS  // Found by: command losslessMissesNothing
            let lossless = !isMutant("OBSERVE_NOT_LOSSLESS") && self.lossless
        #endif
        let token = try center.addObserver(
            forNames: .init(isFiltered ? nil : selection.names, prefixes: selection.prefixes),
            options: .init(
                subject: subject, from: start.position, origin: origin.filter, lossless: lossless,
                // Printing is quick, or is delayed by the program that reads the output. A command may take long.
                queue: exec == nil ? nil : DispatchQueue(label: "tidings.exec"),
                onMissed: { count, name in
                    guard !finish.hasEnded else { return }
                    if let counts { return counts.countMissed(count) }
                    #if MUTANT_LOSS_NOT_IN_THE_STREAM  // Found by: command jsonSaysWhereNotificationsWereMissed hangs
                        if isMutant("LOSS_NOT_IN_THE_STREAM") { return }
                    #endif
                    printer.note(NotificationText.missed(count, of: name?.rawValue))
                    let of = name.map { " of \($0)" } ?? (isFiltered ? " of any name" : "")
                    Terminal.note("missed \(counted(count, "notification"))\(of)")
                }),
            using: { notification in
                guard notification.envelope.postedAtNanoseconds >= start.time,
                    !isFiltered || selection.includes(notification.name)
                else { return }
                if let counts { counts.count(notification) } else { printer.handle(notification) }
            })
        try reportGap(after: since, in: center)
        Terminal.note("observing \(all ? "all names" : names.joined(separator: ", ")) in center \(options.center)")
        return {
            if !endObserving(token), let sequence = printer.commandUnderWay {
                Terminal.note("the command for #\(sequence) is still running")
            }
        }
    }

    /// Where the observer starts, and the earliest time of a notification that it prints.
    private func start(in center: Center) -> (position: Center.Start, time: UInt64) {
        #if MUTANT_SINCE_COUNTS_ITSELF  // Found by: command startsAfterASequence
            if isMutant("SINCE_COUNTS_ITSELF"), case .sequence(let sequence, nil) = since {
                return (.after(sequence - 1, in: center.incarnation), 0)
            }
        #endif
        switch since {
        case nil: return (from == .oldest ? .oldest : .now, 0)
        case .sequence(let sequence, let incarnation):
            return (.after(sequence, in: incarnation ?? center.incarnation), 0)
        case .seconds(let seconds):
            #if MUTANT_SINCE_LENGTH_IGNORED  // Found by: command startsALengthOfTimeAgo
                if isMutant("SINCE_LENGTH_IGNORED") { return (.oldest, 0) }
            #endif
            let now = Date().timeIntervalSince1970
            return (.oldest, UInt64(max(0, now - seconds) * 1e9))
        }
    }

    /// The library reports no notification that left the ring before an observer registered.
    private func reportGap(after since: Since?, in center: Center) throws {
        guard case .sequence(let sequence, _) = since else { return }
        let oldest = try center.statistics.oldestSequence
        if oldest > sequence, oldest - sequence > 1 {
            Terminal.note("the positions from #\(sequence + 1) to #\(oldest - 1) have left the ring")
        }
    }

    /// - Returns: what ends observing.
    private func observePresence(of center: Center, _ lines: LineOutput) throws -> () -> Void {
        guard origin == .remote else {
            return try printChanges(
                of: center.presence(), "presence", format == .json ? PresenceLine.json : PresenceLine.pretty, lines)
        }
        return try printChanges(
            of: center.remotePresence(), "presence on other machines",
            format == .json ? PresenceLine.json : PresenceLine.pretty, lines)
    }

    private func printChanges<Change: Sendable>(
        of sequence: Center.ObservedSequence<Change>, _ what: String, _ line: @escaping @Sendable (Change) -> String,
        _ lines: LineOutput
    ) throws -> () -> Void {
        let changes = try sequence.register()
        Terminal.note("observing \(what) in center \(options.center)")
        let ended = DispatchSemaphore(value: 0)
        let task = Task {
            for await change in changes { lines.print(Array(line(change).utf8)) }
            ended.signal()
        }
        return {
            task.cancel()
            _ = ended.wait(timeout: .now() + .seconds(1))
        }
    }

    /// Waits for a line or a command in progress, but for one second at most: the program that reads the output may
    /// have stopped reading.
    ///
    /// - Returns: whether the observation ended in that time.
    private func endObserving(_ token: Center.ObservationToken) -> Bool {
        let ended = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            token.cancel()
            ended.signal()
        }
        return ended.wait(timeout: .now() + .seconds(1)) == .success
    }
}
