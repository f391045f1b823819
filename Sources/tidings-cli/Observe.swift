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
            One line a notification, written at once. Standard error says when the observer is registered (everything posted \
            after that line is printed), and how many notifications were missed, whenever any were.

              tidings observe com.example.changed
              tidings observe 'com.example.*'
              tidings observe --all --format json | jq .payload
              tidings observe com.example.saved --count 1 --timeout 10 && echo saved
              tidings observe com.example.saved --exec 'jq -r .path | xargs process'

            A name that ends in * stands for all names that begin with what is before it (quote it, or the shell looks for files); \
            no other name wakes the command. Only with --read-only all names of the center do, as with --all: what was not asked for \
            is left out here, and what is said of missed ones counts all names. Values of these names that were kept before (--retain, \
            state) come first, in the order they were posted in.

            With --exec, commands run one after the other, in the order of the notifications, and what comes meanwhile waits: up to \
            8,192 notifications or 64 MiB, then the oldest are dropped and told as missed. A command that fails is told on standard \
            error, and the next notification is its next chance.

            If the center is removed, the command says so and ends with status 1. With --follow it goes on in the next center of the \
            name, which it creates if the center is yours; with --read-only, or for another owner, it waits until there is one. It says when \
            it does, and begins with the values kept there. If a file that is no center takes the name, the command ends with status 1.

            SIGINT (Control-C) and SIGTERM end it with status 0; so does a reader of its output that goes away. A command of --exec \
            that is under way gets a second to come to its end, and is left alone if it takes longer; no other is started.
            """)

    enum From: String, ExpressibleByArgument, CaseIterable {
        case now, oldest
    }

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case pretty, json
    }

    @Argument(
        help: "The names to observe; com.example.* for all that begin with com.example.",
        completion: .custom(Completions.observedNames))
    var names: [String] = []

    @OptionGroup var options: CenterOptions

    @Flag(
        name: .customLong("read-only"),
        help:
            "Open the center with no more than permission to read: one of another user, who lets you (mode 0644 or 0640)."
    )
    var isReadOnly = false

    @Flag(
        help:
            "When the center is removed, go on in the next one of its name, as tail -F does, instead of ending with status 1."
    )
    var follow = false

    @Flag(help: "Observe all names.")
    var all = false

    @Option(help: ArgumentHelp("End after that many notifications.", valueName: "n"))
    var count: Int?

    @Option(
        help: ArgumentHelp("End after that time; with status 2 if there were fewer than --count.", valueName: "seconds")
    )
    var timeout: Double?

    @Option(help: "Start with what is posted from now on, or with the oldest that is still there.")
    var from = From.now

    @Option(help: "Only those posted with this subject.")
    var subject: String?

    @Option(
        help: """
            pretty, or json: an object a line with sequence, name, subject (or null), payload, postedAt (UTC), pid and uid, and retained or cleared where that is true.
            """)
    var format = Format.pretty

    @Option(
        help: ArgumentHelp(
            """
            Run this by "sh -c" for each notification, one at a time and in order, with the payload as JSON on its standard \
            input and TIDINGS_NAME, TIDINGS_SEQUENCE and TIDINGS_SUBJECT in its environment.
            """, valueName: "command"))
    var exec: String?

    func validate() throws {
        guard names.isEmpty == all else {
            throw ValidationError(all ? "Give names or --all, not both." : "Give the names to observe, or --all.")
        }
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
        if let timeout, !(timeout >= 0) { throw ValidationError("--timeout can't be negative.") }
    }

    func run() throws {
        let finish = Finish()
        finish.includeSignals()
        let center = try isReadOnly ? options.openToRead(follow: follow) : options.open(follow: follow)
        let name = options.center
        center.onDiagnostic = { diagnostic in
            switch diagnostic {
            case .dispatchFailed(let error):
                let hint = error.code == .removed && !follow ? ", or use --follow" : ""
                finish.end(.failed(error.message + hint))
            case .reopened(let incarnation):
                Terminal.note(
                    "center \(name) was removed; observing the next one (incarnation \(String(incarnation, radix: 16)))"
                )
            default: break
            }
        }
        let printer = NotificationPrinter(format: format, command: exec, limit: count, finish: finish)
        let selection = NameSelection(all ? nil : names)
        // A reader cannot register prefixes by which posters would wake it. It observes all names, and filters here.
        let isFiltered = isReadOnly && !selection.prefixes.isEmpty
        let token = try center.addObserver(
            forNames: .init(isFiltered ? nil : selection.names, prefixes: selection.prefixes),
            options: .init(
                subject: subject, from: from == .oldest ? .oldest : .now,
                // Printing is quick, or is delayed by the program that reads the output. A command may take long.
                queue: exec == nil ? nil : DispatchQueue(label: "tidings.exec"),
                onMissed: { count, name in
                    guard !finish.hasEnded else { return }
                    let of = name.map { " of \($0)" } ?? (isFiltered ? " of any name" : "")
                    Terminal.note("missed \(counted(count, "notification"))\(of)")
                }),
            using: { if !isFiltered || selection.includes($0.name) { printer.handle($0) } })
        Terminal.note("observing \(all ? "all names" : names.joined(separator: ", ")) in center \(options.center)")

        let reason = finish.wait(seconds: timeout)
        finish.end(.complete)
        if !endObserving(token), let sequence = printer.commandUnderWay {
            Terminal.note("the command for #\(sequence) is still running")
        }
        switch reason {
        case .failed(let line): throw Failure(line)
        case nil where count != nil: throw ExitCode(2)
        default: return
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
