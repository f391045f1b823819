// The command `tidings replay`.
import ArgumentParser
import Tidings

struct Replay: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Post the notifications of a recording again.",
        discussion: """
            Posts each notification under its name, with its subject and payload, in the recorded order and with the \
            recorded distances in time. Retained values that were recorded at the beginning are retained again, at \
            once. Notices of presence and requests are left out: they can't be posted. Standard error reports gaps of \
            the recording, and at the end how many notifications were posted.

              tidings replay player.tidings --center com.example.test
              tidings replay player.tidings --center com.example.test --speed max

            Fails with status 1 if the file is no recording, damaged or truncated, of another version, or of a machine \
            of another architecture. What precedes the fault has been posted then. SIGINT and SIGTERM end the command \
            with status 0.
            """)

    @Argument(help: "The file that \"tidings record\" has written; -: standard input.", completion: .file())
    var file: String

    @OptionGroup var options: CenterOptions

    @Option(
        help: ArgumentHelp("How fast: 1 as recorded, 2 twice as fast, 0.5 half as fast, max.", valueName: "factor"))
    var speed = Speed(factor: 1)

    @Option(
        help: ArgumentHelp("How long a post may wait for a lossless observer: 500ms, 2s.", valueName: "duration"))
    var timeout: Seconds?

    @Flag(help: "Replay also what a machine of another architecture has recorded.")
    var anyMachine = false

    func run() throws {
        let finish = Finish()
        finish.includeSignals()
        var recording = try RecordingReader(file)
        guard anyMachine || recording.architecture == RecordingFormat.architecture else {
            throw Failure(
                """
                can't replay \(recording.path): it was recorded on a machine of architecture \
                \(recording.architecture.printable), where payloads that are bytes in memory may have another meaning; \
                use --any-machine to replay it here (\(RecordingFormat.architecture))
                """)
        }
        let center = try options.open()
        var (posted, omitted, pace) = (0, 0, Pace(speed))
        defer {
            let left = omitted > 0 ? ", \(PostedLine.omitted(omitted))" : ""
            Terminal.note("posted \(counted(posted, "notification"))\(left)")
        }
        while true {
            switch try recording.next() {
            case .end: return
            case .gap(let missed, let name):
                let count = counted(Int(clamping: missed), "notification")
                Terminal.note("the recording misses \(count)\(name.map { " of \($0)" } ?? "") here")
            case .notification(let one, let postedAt):
                guard !one.isOfLibrary else {
                    omitted += 1
                    continue
                }
                let wait = one.isRetained ? 0 : pace.seconds(until: postedAt)
                if finish.wait(seconds: wait) != nil { return }
                do throws(SharedNotificationError) {
                    _ = try one.post(to: center, timeout: timeout)
                } catch {
                    throw Failure("\(error.line) (item \(recording.number) of the recording)")
                }
                posted += 1
            }
        }
    }
}

/// A factor, or `max`.
struct Speed: ExpressibleByArgument {
    /// `nil`: as fast as possible.
    let factor: Double?

    init(factor: Double) { self.factor = factor }

    init?(argument: String) {
        if argument == "max" {
            factor = nil
        } else {
            guard let factor = Double(argument), factor > 0, factor.isFinite else { return nil }
            self.factor = factor
        }
    }

    var defaultValueDescription: String { "1" }
}

/// When the next notification is due.
struct Pace {
    private let factor: Double?
    private var first: (postedAt: UInt64, moment: ContinuousClock.Instant)?

    init(_ speed: Speed) { factor = speed.factor }

    /// How long to wait for a notification with that time. 0 also if the recorder's clock has gone back.
    mutating func seconds(until postedAt: UInt64) -> Double {
        guard let factor else { return 0 }
        let now = ContinuousClock.now
        guard let first else {
            first = (postedAt, now)
            return 0
        }
        #if MUTANT_CLOCK_GOES_ON_ONLY  // Found by: command aReplayKeepsDistancesInTime
            if isMutant("CLOCK_GOES_ON_ONLY") { return postedAt > first.postedAt ? 0 : 1 }
        #endif
        guard postedAt > first.postedAt else { return 0 }
        let due = Double(postedAt - first.postedAt) / 1e9 / factor
        return max(0, due - (now - first.moment) / .seconds(1))
    }
}
