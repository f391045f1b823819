// The command `tidings record`.
import ArgumentParser
import Foundation
import Glibc
import Tidings
import TidingsAdministration

struct Record: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record the notifications of all names in a file.",
        discussion: """
            The file is a CBOR sequence (RFC 8742): an item that says what the file is; an item for each notification, \
            with its sequence, name, subject, time, poster and payload; one for each gap, where notifications were \
            missed; and an end. "tidings replay" posts them again. A recording ends after --timeout or --count, by \
            SIGINT or SIGTERM with status 0, or when the center is removed, with status 1.

              tidings record player.tidings --center com.example.player
              tidings replay player.tidings --center com.example.test --speed 10

            The ring of a center outlives its processes: this saves its last lap after all of them have died.
              tidings record crash.tidings --center com.example.player --from oldest --timeout 1s

            The file has the payloads of all names: each user with permission to read it can read them. It is created \
            for you alone (mode 0600).
            """)

    @Argument(help: "The file; -: standard output.", completion: .file())
    var file: String

    @OptionGroup var options: CenterOptions

    @Option(
        help: """
            Start with the next notification that is posted, or with the oldest one in the ring. oldest creates no \
            center.
            """)
    var from = Observe.From.now

    @Option(help: ArgumentHelp("End after this number of notifications.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End after this time: 500ms, 10s, 5m.", valueName: "duration"))
    var timeout: Seconds?

    @Flag(help: "Replace the file if it exists.")
    var force = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
    }

    func run() throws {
        let finish = Finish()
        finish.includeSignals()
        #if MUTANT_RECORDER_CREATES  // Found by: command theLastLapIsReadableAfterAllProcessesHaveDied hangs
            if isMutant("RECORDER_CREATES") { _ = try options.open() }
        #endif
        let center = try from == .oldest ? options.openExisting() : options.open()
        let what = file == "-" ? "standard output" : file.printable
        let descriptor = try openFile(what)
        let output = LineOutput(limit: count, finish: finish, to: (descriptor, what), end: [], most: 16 << 20)
        output.print(
            RecordingFormat.header(center: center.name, incarnation: center.incarnation), counts: false)
        finish.includeEnd(of: center)
        let (item, missed, pause) = (Locked<[UInt8]>([]), Locked(0), RecordingPause(try center.statistics.slots))
        let token = try center.addObserver(
            forNames: .all,
            options: .init(
                from: from == .oldest ? .oldest : .now,
                onMissed: { count, name in
                    missed.withLock { $0 += min(count, .max - $0) }
                    #if MUTANT_GAP_NOT_RECORDED  // Found by: command gapsAreRecordedAndReported
                        if isMutant("GAP_NOT_RECORDED") { return }
                    #endif
                    output.print(RecordingFormat.gap(count, of: name?.rawValue), counts: false)
                }),
            using: { notification in
                item.withLock { item in
                    RecordingFormat.set(&item, to: notification)
                    output.print(item)
                }
                pause.waitIfCaughtUp(after: notification.envelope.sequence, in: center)
            })
        Terminal.note("recording center \(options.center)")
        let reason = finish.wait(seconds: timeout?.value)
        finish.end(.complete)
        token.cancel()
        output.print(RecordingFormat.end, counts: false, isLast: true)
        output.close(after: reason == nil ? .complete : reason)
        if let failure = output.failure { throw failure }
        let gaps = missed.withLock { $0 }
        if gaps > 0 { Terminal.note("missed \(counted(gaps, "notification")); the recording has gaps") }
        if case .failed(let line) = reason { throw Failure(line) }
    }

    private func openFile(_ what: String) throws -> Int32 {
        if file == "-" { return STDOUT_FILENO }
        #if MUTANT_RECORDING_REPLACED  // Found by: command aFileIsReplacedWithForceOnly
            let force = force || isMutant("RECORDING_REPLACED")
        #endif
        let descriptor = Glibc.open(file, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0o600)
        if descriptor >= 0 { return descriptor }
        if errno == EEXIST { throw Failure("can't record to \(what): it exists; choose another file, or use --force") }
        throw Failure("can't record to \(what)", errno: errno)
    }
}

/// Keeps a recorder from sleeping after each notification of a stream: each time it sleeps, a poster has to wake it.
final class RecordingPause: Sendable {
    private let nanoseconds: UInt64
    private let last = Locked<UInt64>(0)

    /// - Parameter slots: those of the ring. A pause takes 100 ns for each, and 1 ms at most: no stream of posts laps
    ///   the ring in that time.
    init(_ slots: Int) {
        nanoseconds = min(1_000_000, UInt64(slots) * 100)
    }

    /// Blocks the observer's thread for a pause if nothing waits for it, once in the time of a pause.
    func waitIfCaughtUp(after sequence: UInt64, in center: Center) {
        let now = monotonicNow()
        guard now - last.withLock({ $0 }) >= nanoseconds else { return }
        if let posted = try? center.statistics.posted, posted <= sequence &+ 64 {
            usleep(UInt32(nanoseconds / 1000))
        }
        last.withLock { $0 = monotonicNow() }
    }
}
