import ChildProcesses
import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// `record` and `replay`.
@Suite(.serialized)
struct RecordingTests {
    private static let payloads: [SharedNotificationCenter.RawPayload] = [
        .json(#"{"x":1.50}"#), .text("ä"), .empty, .init(format: .bitwise, bytes: [0, 255, 1, 2, 3, 4, 5, 6, 7]),
        .init(format: .init(rawValue: 200), bytes: Array(repeating: 7, count: 70_000)),
    ]

    /// Makes a recording of a retained value, of each payload with a subject, and of a value that was cleared.
    private func record(in directory: CenterDirectory) async throws -> String {
        let file = directory.path + "/recording"
        let center = try directory.center()
        try center.setState(.json("1"), for: "state")
        let count = "\(Self.payloads.count + 2)"
        let recorder = try Invocation(["record", file, "--count", count], in: directory)
        _ = await recorder.errors.first { $0.contains("recording center") }
        for payload in Self.payloads { try center.post(name: "a", payload: payload, options: .init(subject: "s")) }
        try center.setState(nil, for: "state")
        expectEqual(await recorder.ending(), 0)
        return file
    }

    private func replay(
        _ file: String, _ arguments: String..., in directory: CenterDirectory
    ) async throws -> (outcome: Outcome, received: [SharedNotificationCenter.Notification]) {
        let observer = try directory.center("copy").pollableObserver(forNames: .all)
        let arguments = ["replay", file, "--center", "copy"] + arguments
        let outcome = try await Invocation(arguments, in: directory).outcome()
        var received: [SharedNotificationCenter.Notification] = []
        while case .notification(let one) = try observer.next() { received.append(one) }
        return (outcome, received)
    }

    /// Fails if a replay loses a subject, a byte, a format, the order, or that a value is retained or cleared.
    @Test(.timeLimit(.minutes(10)), arguments: ["1", "max", "1000"])
    func aReplayPostsWhatWasRecorded(speed: String) async throws {
        let directory = try CenterDirectory()
        let (outcome, received) = try await replay(try await record(in: directory), "--speed", speed, in: directory)
        #expect(outcome.status == 0 && outcome.errors == ["tidings: posted 7 notifications"], "\(outcome)")
        let names = received.map(\.name.rawValue)
        #expect(names == ["state"] + Self.payloads.map { _ in "a" } + ["state"])
        #expect(received.first?.payload.json == "1" && received.last?.envelope.isCleared == true)
        let posted = received.dropFirst().dropLast()
        #expect(posted.map(\.payload) == Self.payloads)
        #expect(posted.allSatisfy { $0.object == "s" })
    }

    /// The ring outlives its processes. Fails if the recording lacks what they posted, or creates a center.
    @Test(.timeLimit(.minutes(10)))
    func theLastLapIsReadableAfterAllProcessesHaveDied() async throws {
        let directory = try CenterDirectory()
        let file = directory.path + "/recording"
        let peer = try Invocation(["observe", "--all", "--announce", "peer"], in: directory)
        _ = await peer.errors.first { $0.contains("observing") }
        try await tidings("post", "a", "--text", "last words", in: directory)
        peer.send(SIGKILL)
        expectEqual(await peer.ending(), -SIGKILL)
        let outcome = try await tidings("record", file, "--from", "oldest", "--timeout", "500ms", in: directory)
        #expect(outcome.status == 0, "\(outcome)")
        let (replayed, received) = try await replay(file, "--speed", "max", in: directory)
        #expect(replayed.status == 0)
        #expect(received.map(\.payload) == [.text("last words")])
        // The notices of the dead peer's presence are left out.
        #expect(replayed.errors.last?.contains("left out ") == true, "\(replayed)")
        let other = try await tidings("record", file + "2", "--from", "oldest", "--center", "none", in: directory)
        #expect(other.status == 1 && other.errors.count == 1)
        #expect(!directory.files.contains { $0.hasSuffix(".none") || $0.hasSuffix("2") }, "\(directory.files)")
    }

    /// Fails if a gap is not in the recording, or a replay does not report it.
    @Test(.timeLimit(.minutes(10)))
    func gapsAreRecordedAndReported() async throws {
        let directory = try CenterDirectory()
        let file = directory.path + "/recording"
        let center = try directory.center(slots: 256)
        let recorder = try Invocation(["record", file], in: directory)
        _ = await recorder.errors.first { $0.contains("recording center") }
        try recorder.process.stop()
        for _ in 0..<1000 { try center.post(name: "a", payload: .empty) }
        recorder.send(SIGCONT)
        try await tidings("remove", "--force", "default", in: directory)
        let status = await recorder.ending()
        #expect(status == 1)
        let told = await recorder.errors.all().first { $0.contains("missed ") } ?? ""
        let missed = Int(told.firstMatch(of: /missed (\d+)/)?.1 ?? "") ?? 0
        #expect(missed > 0)
        let (outcome, received) = try await replay(file, "--speed", "max", in: directory)
        #expect(outcome.status == 0 && received.count + missed == 1000, "\(outcome)")
        #expect(outcome.errors.first == "tidings: the recording misses \(missed) notifications here")
    }

    /// Each prefix of a recording is refused in one line, or ends with the notifications before the cut. Fails if a cut
    /// crashes the reader, or is taken for an end.
    @Test(.timeLimit(.minutes(10)))
    func aTruncatedRecordingIsReported() async throws {
        let directory = try CenterDirectory()
        let file = try await record(in: directory)
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
        for count in 0..<min(bytes.count, 400) { try check(Array(bytes[..<count]), in: directory) }
        try Data(bytes.dropLast()).write(to: URL(fileURLWithPath: file))
        var (outcome, received) = try await replay(file, "--speed", "max", in: directory)
        #expect(outcome.status == 1 && received.count == 7)
        #expect(outcome.errors.last?.contains("is truncated: it ends after item 8") == true, "\(outcome)")
        try Data(bytes[..<200]).write(to: URL(fileURLWithPath: file))
        (outcome, received) = try await replay(file, "--speed", "max", in: directory)
        #expect(outcome.status == 1 && outcome.errors.last?.contains("ends inside item ") == true, "\(outcome)")
    }

    /// Fails if a changed byte crashes the reader, or makes it read on for ever.
    @Test(.timeLimit(.minutes(10)))
    func aDamagedRecordingIsReported() async throws {
        let directory = try CenterDirectory()
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: try await record(in: directory))))
        // A length that no file has, of a name and of a payload.
        let header = RecordingFormat.header(center: "a", incarnation: 1)
        let (length, name) = ([UInt8](repeating: 0xFF, count: 8), [0x61, 0x61] as [UInt8])
        try check(header + [0x82, 1, 0x7B] + length, in: directory)
        try check(header + [0x89, 1] + name + [0xF6, 1, 1, 1, 1, 0, 0x5B] + length, in: directory)
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix(state: seed)
        for _ in 0..<2000 {
            var changed = bytes
            for _ in 0...3 { changed[Int(random.next() % 400)] = UInt8(truncatingIfNeeded: random.next()) }
            // Most changes are found. Others make another recording: a changed payload, for instance.
            try check(changed, mayBeWhole: true, in: directory, "seed \(seed)")
        }
    }

    /// Reads a file to its end. It has to end with a failure of one line.
    private func check(
        _ bytes: [UInt8], mayBeWhole: Bool = false, in directory: CenterDirectory, _ comment: Comment? = nil
    ) throws {
        let file = directory.path + "/changed"
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        do {
            var reader = try RecordingReader(file)
            defer { reader.close() }
            while true { if case .end = try reader.next() { break } }
            #expect(mayBeWhole, comment)
        } catch let failure as Failure {
            #expect(!failure.description.contains("\n"), comment)
        }
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("tidings\u{1}", "tidings\u{2}", "it has version 2"),
            ("x86_64", "x86_65", "use --any-machine"), ("aarch64", "aarch65", "use --any-machine"),
            ("tidings", "tidingz", "it isn't a file of"),
        ])
    func anotherVersionOrMachineIsRefused(text: String, other: String, reason: String) async throws {
        let directory = try CenterDirectory()
        let file = try await record(in: directory)
        var data = try Data(contentsOf: URL(fileURLWithPath: file))
        guard let range = data.range(of: Data(text.utf8)), range.lowerBound < 40 else { return }
        data.replaceSubrange(range, with: Data(other.utf8))
        try data.write(to: URL(fileURLWithPath: file))
        let (outcome, received) = try await replay(file, in: directory)
        #expect(outcome.status == 1 && outcome.errors.count == 1 && received.isEmpty, "\(outcome)")
        #expect(outcome.errors.first?.contains(reason) == true, "\(outcome)")
        guard reason.contains("--any-machine") else { return }
        let (allowed, all) = try await replay(file, "--any-machine", "--speed", "max", in: directory)
        #expect(allowed.status == 0 && all.count == 7)
    }

    /// Fails if a file is overwritten, or a full disk is not reported.
    @Test(.timeLimit(.minutes(10)))
    func aFileIsReplacedWithForceOnly() async throws {
        let directory = try CenterDirectory()
        let file = try await record(in: directory)
        let before = try Data(contentsOf: URL(fileURLWithPath: file))
        let refused = try await tidings("record", file, "--from", "oldest", "--timeout", "0s", in: directory)
        #expect(refused.status == 1 && refused.errors.count == 1, "\(refused)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
        let full = try await tidings(
            "record", "/dev/full", "--force", "--from", "oldest", "--count", "1", in: directory)
        #expect(full.status == 1, "\(full)")
        #expect(full.errors.last == "tidings: can't write to /dev/full: No space left on device", "\(full)")
    }

    /// Fails if the command reports a program that reads no more, or goes on without it.
    @Test(.timeLimit(.minutes(10)))
    func aRecorderEndsWithTheProgramThatReads() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let pipe = try PipeEnds()
        let recorder = try Invocation(["record", "-"], in: directory, output: pipe.writing)
        close(pipe.writing)
        _ = await recorder.errors.first { $0.contains("recording center") }
        close(pipe.reading)
        try center.post(name: "a", payload: .empty)
        expectEqual(await recorder.ending(), 0)
        expectEqual(await recorder.errors.all(), ["tidings: recording center default"])
    }

    /// Fails if a replay takes the end of a pipe for the end of a recording.
    @Test(.timeLimit(.minutes(10)))
    func aReplayReadsAPipe() async throws {
        let directory = try CenterDirectory()
        let file = try await record(in: directory)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file)).count
        let observer = try directory.center("copy").pollableObserver(forNames: .all)
        let cases: [(Int, Int32, Int)] = [(bytes, 0, 7), (bytes - 1, 1, 7), (100, 1, 1), (60, 1, 0), (0, 1, 0)]
        for (count, status, posted) in cases {
            let command = "head -c \(count) '\(file)' | '\(try Invocation.path(of: "tidings"))' replay - --center copy"
            let shell = try Invocation(
                ["-c", command + " --speed max"], in: directory, executable: "/bin/sh")
            let outcome = await shell.outcome()
            #expect(outcome.status == status, "\(count) bytes: \(outcome)")
            var received = 0
            while case .notification = try observer.next() { received += 1 }
            #expect(received == posted, "\(count) bytes: \(outcome)")
        }
    }

    @Test(arguments: [("1", 1), ("0.5", 0.5), ("0", nil), ("-1", nil), ("nan", nil), ("inf", nil), ("fast", nil)])
    func readsSpeeds(text: String, factor: Double?) {
        #expect(Speed(argument: text)?.factor == factor)
        #expect(Speed(argument: "max") != nil)
    }

    /// Fails if a replay is as fast as the processor permits, or waits where the recorder's clock has gone back.
    @Test func aReplayKeepsDistancesInTime() {
        var pace = Pace(Speed(factor: 2))
        #expect(pace.seconds(until: 5_000_000_000_000) == 0)
        let wait = pace.seconds(until: 5_200_000_000_000)
        #expect(wait > 90 && wait <= 100)
        #expect(pace.seconds(until: 1) == 0)
    }
}

/// Random numbers that a seed repeats.
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
