import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

/// Names with typed arguments.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct KeyTests {
    @Test func deliveriesOfAnotherProcess() async throws {
        let test = try TestCenter()
        let key = Center.Key<Int, String>("progress")
        var iterator = test.center.deliveries(of: key, bufferSize: 2).makeAsyncIterator()
        let seen = Events<Int>()
        let token = try test.center.addObserver(for: key) { number, _ in seen.add(number) }
        let peer = try Peer(test, "key", "progress", "5")
        await seen.wait(for: 5)
        guard case .missed(3) = await iterator.next() else {
            Issue.record("3 should have been missed")
            return
        }
        for number in 3..<5 {
            guard case .message((number, "stage"), let envelope) = await iterator.next() else {
                Issue.record("nothing more should have been missed")
                return
            }
            #expect(envelope.poster.pid == peer.pid)
        }
        token.cancel()
    }

    @Test func deferredPostsCoalesceEqualOnes() async throws {
        let test = try TestCenter()
        let key = Center.Key<Int, String, String?>("progress")
        let peer = try Peer(test, "observe-key", "progress", "102")
        expectEqual(await peer.line(), "observing")
        for number in 0..<100 { try test.center.enqueue(key, number, "a", nil, postingStyle: .whenIdle) }
        try test.center.enqueue(key, 1, "b", nil, postingStyle: .whenIdle, options: .init(subject: "s"))
        try test.center.enqueue(key, 2, "c", "last", postingStyle: .asap, coalescing: [])
        test.center.postPending()
        // On a slow machine the process may be idle between two of these posts.
        var got: [String] = []
        while !got.contains("got 2 c last") || !got.contains("got 1 b -") {
            got = Array(await peer.lines.wait(for: got.count + 2).dropFirst())
        }
        let numbers = got.filter { $0.hasSuffix(" a -") }.compactMap { Int($0.split(separator: " ")[1]) }
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count && numbers.last == 99, "\(got)")
        #expect(got.last == "got 1 b -" || got.last == "got 2 c last", "\(got)")
        #expect(got.firstIndex(of: "got 99 a -")! < got.firstIndex(of: "got 1 b -")!)
    }

    @Test func stateOfAKey() throws {
        let test = try TestCenter()
        let key = Center.Key<Int, String>("progress")
        try test.center.setState(42, "decoding", for: key)
        let state = try #require(try test.other().state(for: key))
        #expect(state == (42, "decoding"))
        try test.center.setState(nil, for: key.name)
        #expect(try test.center.state(for: key) == nil)
    }

    static let progress = Center.Key<Int, String>("test.progress")

    @Test func argumentsArriveFromAnotherProcess() async throws {
        let test = try TestCenter()
        let got = Events<(Int, String, Center.Envelope)>()
        var progress = test.center.deliveries(of: Self.progress).makeAsyncIterator()
        let peer = try Peer(test, "key", "test.progress", "100", "wait")
        while got.count < 100, case .message(let arguments, let envelope)? = await progress.next() {
            got.add((arguments.0, arguments.1, envelope))
        }
        let all = got.all
        #expect(all.map(\.0) == Array(0..<100))
        #expect(all.allSatisfy { $0.1 == "stage" && $0.2.poster.pid == peer.pid })
    }

    @Test func argumentsReachAnotherProcess() async throws {
        let longest = "Key<Int, String, Optional<String>, Double, Array<Int>>"
        // Five keys of one name are posted. Each pair of incompatible keys is reported.
        let reports = [
            "Key<Int, String, String>, \(longest)", "Key<Int, String>, Key<String, Int>",
            "Key<Int, String, String>, Key<String, Int>", "\(longest), Key<String, Int>", "Key<Int>, Key<String, Int>",
        ].map { "two keys: test.progress: \($0)" }
        let test = try TestCenter(expecting: Set(reports))
        let peer = try Peer(test, "observe-key", "test.progress", "6")
        expectEqual(await peer.line(), "observing")
        // This key has one more argument, which is optional.
        try test.center.post(Self.progress, 1, "one")
        try test.center.post(Center.Key<Int, String, String>("test.progress"), 2, "two", "more")
        // This key does not have those arguments yet.
        try test.center.post(
            Center.Key<Int, String, String?, Double, [Int]>("test.progress"), 3, "three", nil, 0.5, [1])
        // Neither post has the types of this key.
        try test.center.post(Center.Key<Int>("test.progress"), 4)
        try test.center.post(Center.Key<String, Int>("test.progress"), "five", 5)
        try test.center.post(Self.progress, 6, "six")
        await peer.waitForEnd()
        let lines = await peer.lines.wait(for: 7)
        #expect(
            lines == [
                "observing", "got 1 one -", "got 2 two more", "got 3 three -", "undecodable", "undecodable",
                "got 6 six -",
            ])
        #expect(test.reports.all.sorted() == reports.sorted())
    }

    @Test func jsonOfAnotherProgramIsDecoded() async throws {
        let test = try TestCenter()
        let got = Events<String>()
        let token = try test.center.addObserver(
            for: Self.progress,
            options: .init(onUndecodable: { notification, _ in got.add("not \(notification.payload.json)") }),
            using: { got.add("\($0) \($1)") })
        let peer = try Peer(
            test, "post-json", "test.progress", #"[7,"seven"]"#, "post-json", "test.progress", #"{"a":1}"#, "post-json",
            "test.progress", #"[8,"eight"]"#)
        await peer.waitForEnd()
        expectEqual(await got.wait(for: 3), ["7 seven", #"not {"a":1}"#, "8 eight"])
        token.cancel()
    }

    @Test func defaultsReplaceMissingArguments() async throws {
        let report = "two keys: test.progress: Key<Int, String, Double, Optional<Bool>>, Key<Int>"
        let test = try TestCenter(expecting: [report])
        let key = Center.Key<Int, String, Double, Bool?>("test.progress", defaults: (nil, nil, 1, true))
        let got = Events<String>()
        let token = try test.center.addObserver(
            for: key, options: .init(onUndecodable: { _, error in got.add("\(error)") }),
            using: { got.add("\($0) \($1) \($2) \($3 as Any)") })
        let peer = try Peer(test, "key", "test.progress", "1")
        await peer.waitForEnd()
        try test.center.post(key, 2, "two", 0.5, nil)
        try test.center.post(Center.Key<Int>("test.progress"), 3)
        let all = await got.wait(for: 3)
        #expect(all[0] == "0 stage 1.0 Optional(true)" && all[1] == "2 two 0.5 nil")
        #expect(all[2].contains("the payload ends before argument 1, which has no default"))
        #expect(test.reports.all == [report])
        token.cancel()
    }

    @Test func keysWithoutArguments() async throws {
        let test = try TestCenter()
        let key: Center.Key<> = .init("test.bare")
        let got = Events<Void>()
        let token = try test.center.addObserver(for: key) { got.add(()) }
        try test.center.post(key)
        try test.center.post(name: "test.bare", payload: .empty)
        try test.center.post(name: "test.bare", payload: .init(encoding: [1, 2]))
        await got.wait(for: 3)
        token.cancel()
        #expect(try test.center.statistics.undecodable == 0)
    }

    @Test func aPayloadIsAPlainArray() async throws {
        let test = try TestCenter()
        let got = Events<String>()
        let token = try test.center.addObserver(forNames: ["test.progress", "test.one"]) { got.add($0.payload.json) }
        try test.center.post(Self.progress, 42, "decoding")
        try test.center.post(Center.Key<Int>("test.one"), 1)
        expectEqual(await got.wait(for: 2), [#"[42,"decoding"]"#, "[1]"])
        token.cancel()
    }

    @Test func subjectsAndRetainedValues() async throws {
        let report = "two keys: test.progress: Key<Int, String>, Key<Array<Int>, String>"
        let test = try TestCenter(expecting: [report])
        try test.center.post(Self.progress, 1, "kept", options: .init(retain: true))
        #expect(try test.center.state(for: Self.progress) ?? (0, "") == (1, "kept"))
        let got = Events<String>()
        let token = try test.center.addObserver(for: Self.progress, options: .init(subject: "a")) { number, text in
            got.add("\(number) \(text)")
        }
        var all = test.center.deliveries(of: Self.progress).makeAsyncIterator()
        try test.center.post(Self.progress, 2, "elsewhere", options: .init(subject: "b"))
        try test.center.post(Self.progress, 3, "live", options: .init(subject: "a"))
        expectEqual(await got.wait(for: 1), ["3 live"])
        for expected in ["1 kept true", "2 elsewhere false", "3 live false"] {
            guard case .message((let number, let text), let envelope)? = await all.next() else { break }
            #expect("\(number) \(text) \(envelope.isRetained)" == expected)
        }
        token.cancel()
        do {
            _ = try test.center.state(for: Center.Key<[Int], String>("test.progress"))
            Issue.record("decoded as something else")
        } catch { #expect(error.code == .decodingFailed) }
        #expect(test.reports.all == [report])
    }

    @Test @MainActor func mainActorAndAsynchronousClosures() async throws {
        let test = try TestCenter()
        let (main, task) = (Events<Int>(), Events<Int>())
        let first = try test.center.addObserver(for: Self.progress) { @MainActor number, _ in main.add(number) }
        let second = try test.center.addObserver(for: Self.progress) { number, _ in
            await Task.yield()
            task.add(number)
        }
        for number in 0..<100 { try test.center.post(Self.progress, number, "") }
        expectEqual(await main.wait(for: 100), Array(0..<100))
        expectEqual(await task.wait(for: 100), Array(0..<100))
        await first.cancelAndWait()
        await second.cancelAndWait()
    }

    @Test func aSequenceOfTuples() async throws {
        let report = "two keys: test.progress: Key<Int, String>, Key<String>"
        let test = try TestCenter(expecting: [report])
        var iterator = test.center.messages(of: Self.progress, options: .init(onUndecodable: { _, _ in }))
            .makeAsyncIterator()
        try test.center.post(Self.progress, 1, "one")
        try test.center.post(Center.Key<String>("test.progress"), "no")
        try test.center.post(Self.progress, 2, "two")
        let first = await iterator.next()
        let second = await iterator.next()
        #expect(first?.0 == 1 && first?.1 == "one" && second?.0 == 2 && second?.1 == "two")
        #expect(test.reports.all == [report])
    }

    @Test func aSequenceReportsLosses() async throws {
        let test = try TestCenter()
        let missed = Events<Int>()
        var iterator = test.center.messages(
            of: Self.progress, options: .init(onMissed: { count, _ in missed.add(count) }), bufferSize: 2
        )
        .makeAsyncIterator()
        let all = Events<Void>()
        let token = try test.center.addObserver(for: Self.progress, options: .init(queue: .global())) { _, _ in
            all.add(())
        }
        for number in 0..<10 { try test.center.post(Self.progress, number, "") }
        await all.wait(for: 10)
        expectEqual(await iterator.next()?.0, 8)
        #expect(missed.all == [8])
        token.cancel()
    }

    @Test func aFailingEncoderIsReported() throws {
        struct Failing: Codable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
            init() {}
            init(from decoder: any Decoder) throws {}
        }
        let test = try TestCenter()
        do {
            try test.center.post(Center.Key<Int, Failing>("test.progress"), 1, Failing())
            Issue.record("posted")
        } catch { #expect(error.code == .encodingFailed) }
        #expect(try test.center.statistics.posted == 0)
    }
}
