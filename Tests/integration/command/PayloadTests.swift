import Foundation
import Testing
import Tidings

/// `observe` prints as JSON the payload that `post` has posted.
@Suite(.serialized)
struct PayloadTests {
    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ([], "null"),
            (["--json", #"{"b": [1, 2.5, true, null], "a": "ä\n"}"#], #"{"b":[1,2.5,true,null],"a":"ä\n"}"#),
            (["--json", "42"], "42"),
            (["--text", "42"], #""42""#),
            (["--text", "a\u{1B}[31mb"], #""a\u001b[31mb""#),
            (["--text", ""], #""""#),
        ])
    func printsWhatWasPosted(options: [String], payload: String) async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "1", "--format", "json", in: directory)
        let post = try Invocation(["post", "a"] + options, in: directory)
        expectEqual(await post.ending(), 0)
        expectEqual(await observer.ending(), 0)
        let line = try #require(await observer.output.all().first)
        #expect(line.contains("\"payload\":\(payload),"), "\(line)")
    }

    @Test(.timeLimit(.minutes(10)))
    func printsBytesOfAFileAsObject() async throws {
        let directory = try CenterDirectory()
        let file = "\(directory.path)/bytes"
        try Data([0x00, 0xFF, 0x7B]).write(to: URL(fileURLWithPath: file))
        let observer = try await observe("a", "--count", "1", "--format", "json", in: directory)
        try await tidings("post", "a", "--file", file, in: directory)
        expectEqual(object(await observer.output.all().first)["payload"] as? [String: String], ["bytes": "00ff7b"])
    }

    @Test(.timeLimit(.minutes(10)))
    func postsALargeFile() async throws {
        let directory = try CenterDirectory()
        let file = "\(directory.path)/bytes"
        try Data(repeating: 7, count: 200_000).write(to: URL(fileURLWithPath: file))
        let observer = try await observe("a", "--count", "1", "--format", "json", in: directory)
        try await tidings("post", "a", "--file", file, in: directory)
        let payload = object(await observer.output.all().first)["payload"] as? [String: String]
        #expect(payload?["bytes"]?.count == 400_000)
    }

    struct Track: SharedNotificationCenter.Message {
        static let name: SharedNotificationCenter.Name = "track"
        var title: String
        var position: Double
    }

    @Test(.timeLimit(.minutes(10)))
    func printsWhatASwiftProgramPosted() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("track", "--count", "1", "--format", "json", in: directory)
        try directory.center().post(Track(title: "So What", position: 0.5), options: .init(subject: "player-1"))
        let line = object(await observer.output.all().first)
        #expect((line["payload"] as? [String: Any])?["title"] as? String == "So What")
        #expect((line["payload"] as? [String: Any])?["position"] as? Double == 0.5)
        #expect(line["subject"] as? String == "player-1")
        #expect(line["pid"] as? Int32 == getpid())
    }

    @Test(.timeLimit(.minutes(10)))
    func aSwiftProgramDecodesPostedJSON() async throws {
        let directory = try CenterDirectory()
        let (stream, arrived) = AsyncStream<Track>.makeStream()
        let token = try directory.center().addObserver(for: Track.self) { track in _ = arrived.yield(track) }
        try await tidings("post", "track", "--json", #"{"title":"Naima","position":1}"#, in: directory)
        var iterator = stream.makeAsyncIterator()
        expectEqual(await iterator.next()?.title, "Naima")
        token.cancel()
    }

    @Test(.timeLimit(.minutes(10)))
    func postsEachLineOfStandardInput() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "3", "--format", "json", in: directory)
        try await tidings("post", "a", "--stdin-lines", in: directory, input: "one\n\nthree")
        let payloads = await observer.output.all().map { object($0)["payload"] as? String }
        #expect(payloads == ["one", "", "three"])
    }

    @Test(.timeLimit(.minutes(10)))
    func postsTheRequestedNumberOfTimes() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "300", "--format", "json", in: directory)
        try await tidings("post", "a", "--count", "300", "--text", "x", in: directory)
        let sequences = await observer.output.all().compactMap { object($0)["sequence"] as? Int }
        // Each number is higher than the one before, but not always by 1: if a poster does not run for long, its post
        // may be revoked and repeated.
        #expect(sequences.count == 300 && zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
    }
}
