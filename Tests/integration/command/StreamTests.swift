import ChildProcesses
import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// `observe` as a stream: its start, its form, what stands between notifications, and output that is read slowly.
@Suite(.serialized)
struct StreamTests {
    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("{{.name}} {{.payload.title}}", "a So What"), ("{{ .payload.tracks.1.n }}!", "1.50!"), ("{}", "{}"),
            ("{{.payload.tracks}}", #"[{},{"n":1.50}]"#), ("{{.payload.esc}}", #"\u001b\u000a"#),
            ("{{.payload.none}}|{{.payload.title.x}}|{{.payload.nil}}", "||"),
            ("{{.subject}}/{{.uid}}/{{.retained}}{{.cleared}}", "s/\(getuid())/"),
        ])
    func printsLinesOfATemplate(template: String, line: String) async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "1", "--template", template, in: directory)
        try await tidings(
            "post", "a", "--subject", "s", "--json",
            #"{"title":"So What","tracks":[{},{"n":1.50}],"nil":null,"esc":"\u001b\n"}"#, in: directory)
        expectEqual(await observer.output.all(), [line])
    }

    @Test(arguments: [
        "{{.nme}}", "{{.name", "{{name}}", "{{}}", "{{.}}", "{{.name.x}}", "{{.payload..x}}", "a{{.name}} {{",
    ])
    func refusesTemplatesWithoutSuchFields(template: String) {
        #expect(Template(argument: template) == nil)
    }

    @Test(.timeLimit(.minutes(10)))
    func startsAfterASequence() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 256)
        let first = try center.post(name: "a", payload: .json("1"))
        for number in 2...3 { try center.post(name: "a", payload: .json("\(number)")) }
        let observer = try await observe(
            "a", "--since", "\(first)", "--count", "2", "--template", "{{.payload}}", in: directory)
        expectEqual(await observer.output.all(), ["2", "3"])
        // Fails if the command does not report what has left the ring, or reports what has not.
        expect(await observer.errors.all()) { $0.count == 1 }
        for _ in 0..<1000 { try center.post(name: "a", payload: .empty) }
        let late = try await observe("a", "--since", "\(first)", "--count", "1", in: directory)
        expectEqual(await late.ending(), 0)
        let oldest = try center.statistics.oldestSequence
        expect(await late.errors.all()) {
            $0.contains("tidings: the positions from #\(first + 1) to #\(oldest - 1) have left the ring")
        }
        let never = try await tidings("observe", "a", "--since", "1000000000", in: directory)
        #expect(never.status == 1 && never.errors.count == 1)
        #expect(never.errors.first?.hasSuffix("use --from now or --from oldest") == true, "\(never.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func startsAfterASequenceOfOneCenter() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let first = try center.post(name: "a", payload: .json("1"))
        try center.post(name: "a", payload: .json("2"))
        let observer = try await observe("a", "--from", "oldest", "--count", "1", "--format", "json", in: directory)
        let printed = try #require(object(await observer.output.all().first)["incarnation"] as? String)
        #expect(printed == String(center.incarnation, radix: 16))
        let again = try await observe(
            "a", "--since", "\(first)@\(printed)", "--count", "1", "--template", "{{.payload}} {{.incarnation}}",
            in: directory)
        expectEqual(await again.output.all(), ["2 \(printed)"])
        let other = try await tidings("observe", "a", "--since", "\(first)@1", in: directory)
        #expect(other.status == 1 && other.errors.count == 1)
        #expect(other.errors.first?.contains("of incarnation 0000000000000001") == true, "\(other.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func startsALengthOfTimeAgo() async throws {
        let directory = try CenterDirectory()
        try await tidings("post", "a", "--retain", "--text", "old", in: directory)
        let observer = try await observe("a", "--since", "1h", "--count", "1", in: directory)
        expectEqual(await observer.ending(), 0)
        let late = try await observe("a", "--since", "0s", "--count", "1", "--format", "json", in: directory)
        try await tidings("post", "a", "--text", "new", in: directory)
        expectEqual(object(await late.output.all().first)["payload"] as? String, "new")
    }

    @Test(arguments: [("7", 7), ("18446744073709551615", .max)] as [(String, UInt64)])
    func aNumberIsASequence(text: String, sequence: UInt64) {
        if case .sequence(sequence, nil) = Since(argument: text) { return }
        Issue.record("\(text): \(String(describing: Since(argument: text)))")
    }

    @Test(arguments: [
        "", "-1", "1.5", "18446744073709551616", "5 m", "nan", "yesterday", "@", "1@", "@1", "1@x", "1@1@1",
    ])
    func refusesOtherStarts(text: String) {
        #expect(Since(argument: text) == nil)
    }

    /// Posts large notifications until a whole ring and all that the command holds waits, while its output is not read.
    private func fill(_ center: SharedNotificationCenter, _ observer: Invocation, _ pipe: Int32) throws -> Int {
        let payload = SharedNotificationCenter.RawPayload.text(String(repeating: "x", count: 20_000))
        var (count, writes) = (0, pollfd(fd: pipe, events: Int16(POLLIN), revents: 0))
        for _ in 0..<2000 {
            guard (try? center.post(name: "a", payload: payload)) != nil else { return count }
            count += 1
            // The command writes before the next post, so that its thread has begun.
            if count == 1 { poll(&writes, 1, -1) }
        }
        return count
    }

    /// Fails if the command drops lines while its output is not read, or does not hold posters back.
    @Test(.timeLimit(.minutes(10)))
    func losslessMissesNothing() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 256)
        let pipe = try PipeEnds()
        let observer = try await observe("a", "--lossless", "--format", "json", in: directory, output: pipe.writing)
        close(pipe.writing)
        let count = try fill(center, observer, pipe.reading)
        #expect(count < 2000)
        let output = Lines(readingFrom: pipe.reading)
        try center.post(name: "a", payload: .json("\"last\""), options: .init(timeout: .seconds(600)))
        await hasLast(output)
        try await tidings("remove", "--force", "default", in: directory)
        expectEqual(await observer.ending(), 1)
        let lines = await output.all().map { object($0) }
        #expect(lines.count == count + 2)
        #expect(lines.dropLast().last?["payload"] as? String == "last")
        #expect(lines.last?["ended"] as? String == "removed")
    }

    /// Waits for the line of the payload "last". At the end of its center the command waits for its reader for a second
    /// only, and on a busy machine this process may read nothing for longer.
    private func hasLast(_ output: Lines) async {
        _ = await output.first { $0.utf8.count < 1000 && $0.contains("\"last\"") }
    }

    /// Fails if an object lacks, comes too late, or has another count.
    @Test(.timeLimit(.minutes(10)))
    func jsonSaysWhereNotificationsWereMissed() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 256)
        let pipe = try PipeEnds()
        let observer = try await observe("a", "--format", "json", in: directory, output: pipe.writing)
        close(pipe.writing)
        let count = try fill(center, observer, pipe.reading)
        let output = Lines(readingFrom: pipe.reading)
        _ = await observer.errors.first { $0.contains("missed") }
        try center.post(name: "a", payload: .json("\"last\""))
        await hasLast(output)
        try await tidings("remove", "--force", "default", in: directory)
        expectEqual(await observer.ending(), 1)
        let lines = await output.all().map { object($0) }
        let missed: [Int] = lines.compactMap { $0["missed"] as? Int }
        let printed: Int = lines.filter { $0["sequence"] != nil }.count
        let all: Int = missed.reduce(printed) { $0 + $1 }
        #expect(all == count + 1)
        let gap: Int = lines.firstIndex { $0["missed"] != nil } ?? 0
        #expect(gap > 0 && gap < lines.count - 1)
        // Several losses can follow each other: the ring may have gone on before the next notification was copied.
        var (before, lost): (Int?, Int) = (nil, 0)
        for line in lines {
            if let count = line["missed"] as? Int {
                #expect(line["name"] as? String == "a")
                lost += count
            } else if let sequence = line["sequence"] as? Int {
                if lost > 0 { #expect(sequence - (try #require(before)) > lost) }
                (before, lost) = (sequence, 0)
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func jsonSaysThatItGoesOnAndThatItEnds() async throws {
        let directory = try CenterDirectory()
        _ = try directory.center()
        let following = try await observe("a", "--follow", "--count", "1", "--format", "json", in: directory)
        let other = try await observe("a", "--format", "json", in: directory)
        try await tidings("remove", "--force", "default", in: directory)
        expectEqual(await other.ending(), 1)
        let end = object(await other.output.all().last)
        #expect(end["ended"] as? String == "removed")
        let message = end["message"] as? String ?? ""
        #expect(message.contains("can't "))
        _ = await following.output.first { $0.hasPrefix(#"{"reopened":""#) }
        try directory.center().post(name: "a", payload: .empty)
        expectEqual(await following.output.all().count, 2)
    }

    /// Fails if a shared write loses a line, prints one twice, or goes on behind the limit.
    @Test(.timeLimit(.minutes(10)))
    func aStreamIsPrintedWhole() async throws {
        let directory = try CenterDirectory()
        let count = 20_000
        let observer = try await observe(
            "a", "--lossless", "--count", "\(count)", "--template", "{{.sequence}}", in: directory)
        let posted = Task.detached {
            let center = try directory.center()
            return try (0..<count + 100).map { _ in
                try center.post(name: "a", payload: .empty, options: .init(timeout: .seconds(600)))
            }
        }
        expectEqual(await observer.ending(), 0)
        let lines = await observer.output.all()
        let sequences = try await posted.value
        #expect(lines.count == count)
        #expect(lines == sequences.prefix(count).map { "\($0)" })
    }

    @Test(.timeLimit(.minutes(10)))
    func summaryCountsNotifications() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("--all", "--summary", "--format", "json", in: directory)
        let center = try directory.center()
        for name in ["a", "b", "a"] {
            try center.post(name: SharedNotificationCenter.Name(name), payload: .text("xx"))
        }
        _ = await observer.output.first { $0.contains(#""a":"#) }
        observer.send(SIGINT)
        expectEqual(await observer.ending(), 0)
        let lines = await observer.output.all().map { object($0) }
        func sum(_ key: String, in objects: [[String: Any]]) -> Int {
            var sum = 0
            for one in objects { sum += one[key] as? Int ?? 0 }
            return sum
        }
        #expect(sum("notifications", in: lines) == 3)
        #expect(sum("bytes", in: lines) == 6)
        #expect(sum("a", in: lines.compactMap { $0["names"] as? [String: Any] }) == 2)
    }

    /// Fails if each of a million names takes memory.
    @Test func summaryBoundsItsNames() {
        let summary = Summary()
        for number in 0..<3000 { summary.count(.init(name: .init("name \(number % 1500)"))) }
        summary.countMissed(.max)
        summary.countMissed(.max)
        let line = object(summary.line(after: 1, json: true))
        let names = line["names"] as? [String: Int]
        #expect(names?.count == 1000)
        #expect(line["otherNames"] as? Int == 1000)
        #expect(line["notifications"] as? Int == 3000)
        #expect(line["missed"] as? Int == Int.max)
        for _ in 0..<4 { summary.count(.init(name: "b\n", payload: .text("xx"))) }
        #expect(summary.line(after: 2, json: false) == #"2 notifications/s, 4 bytes/s: b\u000a 2/s"#)
        #expect(summary.isEmpty)
    }

    /// Fails if a notification of another day looks like one of today.
    @Test func aNotificationOfAnotherDayHasItsDateAndZone() {
        var text = NotificationText(.pretty)
        func line(_ nanoseconds: UInt64) -> String {
            text.set(.init(name: "a", envelope: .init(sequence: 7, postedAtNanoseconds: nanoseconds)))
            return String(decoding: text.line, as: UTF8.self)
        }
        let today = line(UInt64(Date().timeIntervalSince1970 * 1e9))
        #expect(today.wholeMatch(of: /\d\d:\d\d:\d\d\.\d{6} #7 a null from 0/) != nil, "\(today)")
        let other = line(1_000_000_000_123_456_789)
        #expect(other.wholeMatch(of: /2001-09-0\d \d\d:\d\d:40\.123456 [-+]\d{4} #7 a null from 0/) != nil, "\(other)")
        let last = line(.max)
        #expect(last.hasSuffix(" #7 a null from 0"), "\(last)")
    }

    @Test func aRelayedNotificationHasItsOrigin() throws {
        let origin = Center.Origin(
            host: "mercury", center: "player", incarnation: 255, sequence: 9, postedAtNanoseconds: 1, pid: 42, uid: 7)
        let notification = Center.Notification(name: "a", envelope: .init(origin: origin))
        var pretty = NotificationText(.pretty)
        pretty.set(notification)
        let line = String(decoding: pretty.line, as: UTF8.self)
        #expect(line.hasSuffix(" #1 a null from 42 on mercury"), "\(line)")
        var json = NotificationText(.json)
        json.set(notification)
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(json.line)) as? [String: Any], "\(json.line)")
        let fields = try #require(object["origin"] as? [String: Any])
        #expect(fields["host"] as? String == "mercury" && fields["center"] as? String == "player")
        #expect(fields["incarnation"] as? String == "ff" && fields["sequence"] as? Int == 9)
        #expect(fields["pid"] as? Int == 42 && fields["uid"] as? Int == 7)
        let template = try #require(Template(argument: "{{.host}}/{{.center}}"))
        #expect(template.text(of: notification) == "mercury/player")
        #expect(template.text(of: Center.Notification(name: "a")) == "/")
    }
}
