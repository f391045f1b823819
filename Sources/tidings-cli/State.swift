// The command `tidings state`.
import ArgumentParser
import Tidings

struct State: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Get or set the retained value of a name.",
        discussion: """
            The retained value is the last notification of that name that was posted with --retain or set here. \
            Setting it notifies the name's observers. Each name keeps one value. To keep one for each subject, put the \
            subject into the name.

              tidings state set com.example.player.volume 0.5
              tidings state get com.example.player.volume
            """,
        subcommands: [Get.self, Set.self])

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
                  tidings state set com.example.player --clear
                """)

        @Argument(help: "The name.", completion: .custom(Completions.retainedNames))
        var name: String

        @Argument(help: "The value.")
        var value: String?

        @OptionGroup var options: CenterOptions

        @Flag(help: "Store the value as text, even if it is valid JSON.")
        var text = false

        @Flag(help: "Clear the retained value.")
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
}
