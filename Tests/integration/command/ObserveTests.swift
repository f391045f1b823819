import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

@Suite(.serialized)
struct ObserveTests {
    @Test(.timeLimit(.minutes(10)))
    func jsonHasTheseFields() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "1", "--format", "json", in: directory)
        let poster = try Invocation(["post", "a", "--subject", "s"], in: directory)
        let line = object(await observer.output.all().first)
        let keys = ["incarnation", "name", "payload", "pid", "postedAt", "sequence", "subject", "uid"]
        #expect(line.keys.sorted() == keys)
        #expect(line["name"] as? String == "a")
        #expect(line["subject"] as? String == "s")
        // Usually 0. If the poster does not run for long, its post may be revoked and repeated.
        #expect(line["sequence"] is Int)
        #expect(line["pid"] as? Int32 == poster.process.pid)
        #expect(line["uid"] as? UInt32 == getuid())
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let postedAt = try style.parse(try #require(line["postedAt"] as? String))
        #expect(abs(postedAt.timeIntervalSinceNow) < 600)
    }

    /// Most notifications are neither, so the fields are present only if they are true.
    @Test(.timeLimit(.minutes(10)), arguments: ["json", "pretty"])
    func marksRetainedAndClearedNotifications(format: String) async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        try center.setState(1, for: "a")
        let observer = try await observe("a", "--count", "2", "--format", format, in: directory)
        try center.setState(nil, for: "a")
        let lines = await observer.output.all()
        #expect(lines.count == 2)
        if format == "json" {
            let (retained, cleared) = (object(lines.first), object(lines.last))
            #expect(retained["retained"] as? Bool == true && retained["cleared"] == nil)
            #expect(cleared["cleared"] as? Bool == true && cleared["retained"] == nil)
        } else {
            #expect(lines.map { $0.split(separator: " ").last } == ["retained", "cleared"])
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func prettyPrintsNameSubjectPayloadAndPoster() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("com.example.a", "--count", "1", in: directory)
        let center = try directory.center()
        try center.post(name: "com.example.a", payload: .json(#"{"x":1}"#), options: .init(subject: "s"))
        let line = try #require(await observer.output.all().first)
        #expect(line.contains(try Regex(#" #\d+ com\.example\.a \[s\] \{"x":1\} from \#(getpid()) \("#)), "\(line)")
    }

    @Test(.timeLimit(.minutes(10)))
    func namesCannotSteerTheTerminal() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("--all", "--count", "1", in: directory)
        try await tidings("post", "a\u{1B}[2J\u{9B}b\nc", "--subject", "\u{202E}", in: directory)
        let lines = await observer.output.all()
        #expect(lines.count == 1)
        #expect(lines.first?.contains(#"a\u001b[2J\u009bb\u000ac [\u202e]"#) == true)
    }

    @Test(.timeLimit(.minutes(10)))
    func observesItsNamesInOneOrderAndNoOthers() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "b", "--count", "4", "--format", "json", in: directory)
        let center = try directory.center()
        for name in ["a", "c", "b", "b", "c", "a"] {
            try center.post(name: SharedNotificationCenter.Name(name), payload: .empty)
        }
        let names = await observer.output.all().map { object($0)["name"] as? String }
        #expect(names == ["a", "b", "b", "a"])
    }

    @Test(.timeLimit(.minutes(10)))
    func observesOneSubjectOnly() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--subject", "s", "--count", "1", "--format", "json", in: directory)
        try await tidings("post", "a", in: directory)
        try await tidings("post", "a", "--subject", "t", in: directory)
        try await tidings("post", "a", "--subject", "s", in: directory)
        expectEqual(object(await observer.output.all().first)["subject"] as? String, "s")
    }

    @Test(.timeLimit(.minutes(10)))
    func startsWithTheOldestIfRequested() async throws {
        let directory = try CenterDirectory()
        try await tidings("post", "a", "--count", "5", in: directory)
        let observer = try await observe("a", "--from", "oldest", "--count", "5", "--format", "json", in: directory)
        expectEqual(await observer.output.all().count, 5)
        let late = try await observe("a", "--count", "1", "--timeout", "0", in: directory)
        expect(await late.output.all()) { $0.isEmpty }
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["a", "a*", "--all"])
    func receivesTheRetainedValue(_ names: String) async throws {
        let directory = try CenterDirectory()
        try await tidings("post", "a", "--retain", "--text", "old", in: directory)
        try await tidings("post", "a", "--retain", "--text", "new", in: directory)
        let observer = try await observe(names, "--count", "1", "--format", "json", in: directory)
        expectEqual(object(await observer.output.all().first)["payload"] as? String, "new")
    }

    @Test(.timeLimit(.minutes(10)))
    func reportsHowManyWereMissed() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 256)
        let observer = try await observe("a", "--format", "json", in: directory)
        try observer.process.stop()
        for number in 0..<1000 { try center.post(name: "a", payload: .text("\(number)")) }
        observer.send(SIGCONT)
        let line = await observer.errors.first { $0.contains("missed") } ?? ""
        _ = await observer.output.first { $0.contains(#""payload":"999""#) }
        observer.send(SIGINT)
        let lines = await observer.output.all().filter { !$0.hasPrefix(#"{"missed":"#) }
        #expect(line == "tidings: missed \(1000 - lines.count) notifications of a")
        #expect((1...256).contains(lines.count))
    }

    @Test(.timeLimit(.minutes(10)))
    func runsACommandForEachNotification() async throws {
        let directory = try CenterDirectory()
        let command = #"read payload; echo "got $payload $TIDINGS_NAME $TIDINGS_SEQUENCE [$TIDINGS_SUBJECT]"; exit 3"#
        let observer = try await observe("a", "--count", "3", "--exec", command, in: directory)
        try await tidings("post", "a", "--json", #"{"x": 1}"#, "--subject", "s", in: directory)
        try await tidings("post", "a", "--count", "2", in: directory)
        let lines = await observer.output.all().filter { $0.hasPrefix("got") }
        let sequences = lines.compactMap { Int($0.split(separator: " ")[3]) }
        try #require(sequences.count == 3)
        #expect(sequences == sequences.sorted())
        #expect(
            lines == [
                #"got {"x":1} a \#(sequences[0]) [s]"#,
                "got null a \(sequences[1]) []",
                "got null a \(sequences[2]) []",
            ])
        let errors = await observer.errors.all()
        #expect(errors.contains("tidings: the command ended with status 3 for #\(sequences[1])"), "\(errors)")
        expectEqual(await observer.ending(), 0)
    }
}
