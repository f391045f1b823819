// The command `tidings state`.
import ArgumentParser
import Dispatch
import Glibc
import Tidings
import TidingsAdministration

struct State: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Get, set, list, watch or clear retained values.",
        discussion: """
            The retained value is the last notification of that name that was posted with --retain or set here. \
            Setting it notifies the name's observers. Each name keeps one value. To keep one for each subject, put the \
            subject into the name.

              tidings state set com.example.player.volume 0.5
              tidings state get com.example.player.volume
              tidings state list
            """,
        subcommands: [Get.self, Set.self, List.self, Watch.self, Clear.self])

    struct Get: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the retained value of a name, as JSON.",
            discussion: """
                Fails with status 1 if the name has no retained value.

                  tidings state get com.example.player.volume
                """)

        @Argument(help: "The name.", completion: .custom(Completions.retainedNames))
        var name: String

        @OptionGroup var options: CenterOptions

        @Flag(help: "Print the value's bytes unchanged.")
        var raw = false

        func run() throws {
            let center = try options.openToRead()
            guard let value = try center.rawState(for: Center.Name(name)) else {
                throw Failure("center \(options.center) has no retained value for \(name)")
            }
            if raw {
                try Terminal.write(value.bytes)
            } else {
                try Terminal.print(value.json.printable)
            }
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the retained value of a name, and notify the name's observers.",
            discussion: """
                A value that is valid JSON is stored as JSON, any other value as text.

                  tidings state set com.example.player '{"playing": true}'
                  tidings state clear com.example.player
                """)

        @Argument(help: "The name.", completion: .custom(Completions.retainedNames))
        var name: String

        @Argument(help: "The value.")
        var value: String?

        @OptionGroup var options: CenterOptions

        @Flag(help: "Store the value as text, even if it is valid JSON.")
        var text = false

        @Flag(help: "Clear the retained value, as \"tidings state clear\" does.")
        var clear = false

        func validate() throws {
            guard (value == nil) == clear else {
                throw ValidationError(clear ? "Give a value or --clear, not both." : "Give a value, or --clear.")
            }
        }

        func run() throws {
            let name = Center.Name(name)
            guard let value else {
                try options.openExisting().setState(nil, for: name)
                return
            }
            let payload: Center.RawPayload = !text && isJSON(value) ? .json(value) : .text(value)
            try options.open().setState(payload, for: name)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print all names that have a retained value, and the values.",
            discussion: """
                One line for each name, sorted: the name and its value as JSON.

                  tidings state list
                  tidings state list 'com.example.player.*' --format json
                """)

        @Argument(
            help: "The names to list; com.example.* for all names with the prefix com.example. Default: all names.",
            completion: .custom(Completions.retainedNames))
        var names: [String] = []

        @OptionGroup var options: CenterOptions

        @Option(
            help: """
                pretty, or json: one object per line with name and payload, and format (a number) if the payload has \
                no JSON form but the hexadecimal digits of its bytes. "tidings post --json-lines" sets the values again.
                """)
        var format = Centers.Format.pretty

        func run() throws {
            let center = try options.openToRead()
            let selection = NameSelection(names.isEmpty ? nil : names)
            let retained = try center.observedNames.filter { $0.isRetained && !$0.isPrefix }.map(\.name)
            #if MUTANT_EACH_NAME_LISTED  // Found by: command stateListAndClear
                if isMutant("EACH_NAME_LISTED"), let other = try center.observedNames.first(where: { !$0.isRetained }) {
                    try Terminal.print("\(other.name) null")
                }
            #endif
            for name in retained.filter(selection.includes).sorted(by: { $0.rawValue < $1.rawValue }) {
                // Cleared after it was listed.
                guard let value = try center.rawState(for: name) else { continue }
                let json = value.json
                if format == .json {
                    let format = value.formatField(besides: json) ?? ""
                    let name = name.rawValue.jsonString
                    try Terminal.print("{\"name\":\(name),\"payload\":\(json.printable)\(format),\"retained\":true}")
                } else {
                    try Terminal.print("\(name.rawValue.printable) \(json.printable)")
                }
            }
        }
    }

    struct Watch: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the retained value of a name now, and whenever it changes.",
            discussion: """
                One line of JSON for each value. It prints null when the value was cleared, and nothing while there is \
                none at the beginning. A value that was replaced before it was read is left out. If the center is \
                removed, the command reports it and ends with status 1. SIGINT and SIGTERM end it with status 0.

                  tidings state watch com.example.player.volume
                """)

        @Argument(help: "The name.", completion: .custom(Completions.retainedNames))
        var name: String

        @OptionGroup var options: CenterOptions

        @Option(help: ArgumentHelp("End after this number of values.", valueName: "n"))
        var count: Int?

        func validate() throws {
            if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
        }

        func run() throws {
            let finish = Finish()
            finish.includeSignals()
            let center = try options.open()
            let lines = LineOutput(limit: count, finish: finish)
            finish.includeEnd(of: center)
            let (name, last) = (Center.Name(name), Locked<Center.RawPayload?>(nil))
            let show = { @Sendable in
                do throws(SharedNotificationError) {
                    let value = try center.rawState(for: name)
                    let isNew = last.withLock { last in
                        defer { last = value }
                        return value != last
                    }
                    #if MUTANT_EACH_DELIVERY_SHOWN  // Found by: command stateWatchPrintsChanges
                        if isMutant("EACH_DELIVERY_SHOWN"), !isNew {
                            lines.print(Array((value?.json.printable ?? "null").utf8))
                        }
                    #endif
                    if isNew { lines.print(Array((value?.json.printable ?? "null").utf8)) }
                } catch {
                    // Other processes replaced the value each time it was copied. Each of them notifies.
                    if error.code != .system(EBUSY) { finish.end(.failed(error.line)) }
                }
            }
            // Also after a loss the latest value is in the center. The first delivery is the retained value.
            let token = try center.addObserver(
                forNames: .init([name]), options: .init(onMissed: { _, _ in show() }), using: { _ in show() })
            Terminal.note("watching \(self.name) in center \(options.center)")
            let reason = finish.wait()
            lines.close(after: reason)
            // The closure may be printing to a program that does not read: the process ends without it.
            DispatchQueue.global().async { token.cancel() }
            if case .failed(let line) = reason { throw Failure(line) }
        }
    }

    struct Clear: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Clear the retained values of names, and notify their observers.",
            discussion: """
                A name without a retained value is no failure.

                  tidings state clear com.example.player.volume
                """)

        @Argument(help: "The names.", completion: .custom(Completions.retainedNames))
        var names: [String]

        @OptionGroup var options: CenterOptions

        func run() throws {
            let center = try options.openExisting()
            for name in names { try center.setState(nil, for: Center.Name(name)) }
        }
    }
}
