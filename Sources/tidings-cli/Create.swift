// The command `tidings create`.
import ArgumentParser
import Glibc
import Tidings

struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create a center with these sizes and this mode.",
        discussion: """
            Other commands and programs create a center with default sizes when they need one. The sizes of a center \
            never change. The file takes memory only as far as it is used.

              tidings create com.example.player --slots 65536 --mode 0640 --group media
              tidings create com.example.frames --maximum-payload 64MiB

            Fails with status 1 if there is such a center, unless --if-needed is given.
            """)

    @Argument(help: "The center's name: 1 to 200 bytes of UTF-8 without /, not beginning with a dot.")
    var center: String

    @Option(
        help: ArgumentHelp(
            "The largest payload: 1 to 1GiB, as 4096, 64KiB or 1MiB. Default: 16MiB.", valueName: "bytes"))
    var maximumPayload: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Notifications in the ring: a power of two from 256 to 1048576. Default: 4096.", valueName: "n"))
    var slots: Int?

    @Option(
        help: ArgumentHelp(
            "How many processes may have it open at a time: 2 to 4096. Default: 512.", valueName: "n"))
    var participants: Int?

    @Option(help: ArgumentHelp("Observer entries at a time: 2 to 1024. Default: 1024.", valueName: "n"))
    var observers: Int?

    @Option(
        help: ArgumentHelp(
            "Names that are observed or have a retained value at a time: 64 to 1048576. Default: 131072.",
            valueName: "n"))
    var names: Int?

    @Option(
        help: ArgumentHelp(
            """
            Permission bits of the file, in octal: 0600 its owner only, 0660 also its group, 0640 or 0644 lets the \
            group or all users observe. Default: 0600.
            """, valueName: "mode"))
    var mode: FileMode?

    @Option(help: ArgumentHelp("The group of the file, by name or number. Default: yours.", valueName: "group"))
    var group: String?

    @Flag(help: "Succeed also if there is such a center. Its sizes and its mode stay as they are.")
    var ifNeeded = false

    @Flag(help: "Create the center also in a directory where another user may rename files, and so replace it.")
    var sharedDirectory = false

    func validate() throws {
        for (option, value) in [
            ("slots", slots), ("participants", participants), ("observers", observers), ("names", names),
        ] {
            if let value, value < 1 { throw ValidationError("--\(option) must be at least 1.") }
        }
    }

    func run() throws {
        #if MUTANT_SIZE_NOT_PASSED_ON  // Found by: command createsWithSizesAndMode
            let participants = isMutant("SIZE_NOT_PASSED_ON") ? nil : self.participants
        #endif
        _ = try Center(
            named: center,
            configuration: .init(
                maximumPayloadSize: maximumPayload?.value, slots: slots, participants: participants,
                observers: observers, names: names, permissions: mode?.bits,
                group: try idNumber(group, of: "group") { getgrnam($0)?.pointee.gr_gid },
                allowsSharedDirectory: sharedDirectory, creation: ifNeeded ? .ifNeeded : .exclusive))
    }
}

/// A number of bytes on the command line: `4096`, `64KiB`, `1MiB`, `1GiB`.
struct ByteCount: ExpressibleByArgument {
    /// At least 1.
    let value: Int

    init?(argument: String) {
        let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
        let unit = units.first { argument.hasSuffix($0.0) } ?? ("", 1)
        guard let number = Int(argument.dropLast(unit.0.count)), number >= 1 else { return nil }
        let (value, isTooLarge) = number.multipliedReportingOverflow(by: unit.1)
        guard !isTooLarge else { return nil }
        self.value = value
    }
}

/// Permission bits on the command line, in octal.
struct FileMode: ExpressibleByArgument {
    let bits: UInt32

    init?(argument: String) {
        guard let bits = UInt32(argument, radix: 8), bits > 0, bits <= 0o7777 else { return nil }
        self.bits = bits
    }
}
