import Testing
import TidingsFoundation

@testable import Tidings

/// Posts that wait and coalesce.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct DeferredPostTests {
    struct Ticks: Center.Message {
        static let name: Center.Name = "ticks"
        var number: Int
    }

    private static func pending(_ name: Center.Name, _ subject: String?, _ number: UInt8) -> DeferredPosts.Pending {
        .init(
            name: name, subject: subject, payload: .init(format: .bytes, bytes: [number]))
    }

    private static func numbers(_ posts: [DeferredPosts.Pending]) -> [UInt8] { posts.map { $0.payload.bytes[0] } }

    @Test func equalPostsAreRemoved() {
        let all: [(Center.Name, String?)] = [("a", "x"), ("b", "x"), ("a", nil), ("a", "x"), ("a", "x"), ("b", nil)]
        func left(_ coalescing: DeferredPosts.Coalescing) -> [UInt8] {
            var posts = DeferredPosts()
            for (index, post) in all.enumerated() {
                posts.enqueue(
                    Self.pending(post.0, post.1, UInt8(index + 1)), style: .whenIdle, coalescing: coalescing,
                    now: UInt64(index))
            }
            return Self.numbers(posts.take(now: 0, all: true))
        }
        #expect(left([]) == [1, 2, 3, 4, 5, 6])
        #expect(left([.name, .subject]) == [2, 3, 5, 6])
        #expect(left([.name]) == [5, 6])
        #expect(left([.subject]) == [5, 6])
    }

    @Test func postsForSoonLeaveBeforePostsForIdle() {
        var posts = DeferredPosts()
        posts.enqueue(Self.pending("a", nil, 1), style: .whenIdle, coalescing: [], now: 0)
        posts.enqueue(Self.pending("a", nil, 2), style: .asap, coalescing: [], now: 1)
        #expect(Self.numbers(posts.take(now: 2, all: false)) == [2])
        #expect(Self.numbers(posts.take(now: 2, all: false)) == [])
        // A new post every 5 ms: the process is not idle, but the wait is bounded.
        var now: UInt64 = 1
        while now < DeferredPosts.longestDelay {
            #expect(posts.take(now: now, all: false).isEmpty)
            posts.enqueue(Self.pending("a", nil, 3), style: .whenIdle, coalescing: [.name], now: now)
            now += DeferredPosts.idle / 2
        }
        #expect(Self.numbers(posts.take(now: DeferredPosts.longestDelay, all: false)) == [3])
        posts.enqueue(Self.pending("a", nil, 4), style: .whenIdle, coalescing: [.name], now: now)
        #expect(posts.take(now: now + DeferredPosts.idle - 1, all: false).isEmpty)
        #expect(Self.numbers(posts.take(now: now + DeferredPosts.idle, all: false)) == [4])
        // `now` removes waiting posts, and is not itself queued.
        posts.enqueue(Self.pending("a", nil, 5), style: .asap, coalescing: [], now: now)
        posts.enqueue(Self.pending("a", nil, 6), style: .now, coalescing: [.name], now: now)
        #expect(posts.isEmpty)
    }

    @Test func anotherProcessReceivesDeferredPostsInOrder() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "observe", "ticks", "202")
        expectEqual(await peer.line(), "observing")
        for number in 0..<100 {
            try test.center.enqueue(Ticks(number: number), postingStyle: .asap, coalescing: [])
        }
        test.center.postPending()
        for number in 100..<200 {
            try test.center.enqueue(Ticks(number: number), postingStyle: .whenIdle, coalescing: [])
        }
        test.center.postPending()
        // Sent without a further call.
        try test.center.enqueue(name: "ticks", userInfo: ["number": 200], postingStyle: .whenIdle)
        _ = await peer.lines.wait(for: 202)
        try test.center.enqueue(Ticks(number: 201), postingStyle: .now)
        await peer.waitForEnd()
        let numbers = await peer.lines.wait(for: 203).dropFirst().map { Int($0.split(separator: " ")[1]) }
        #expect(numbers == Array(0..<202))
    }

    @Test func theLastOfABurstArrivesInOrder() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let token = try test.other().addObserver(for: Ticks.self) { got.add($0.number) }
        for number in 0..<10_000 {
            try test.center.enqueue(Ticks(number: number), postingStyle: .whenIdle)
        }
        while got.all.last != 9999 { await Task.yield() }
        let all = got.all
        #expect(all == all.sorted() && Set(all).count == all.count)
        #expect(all.count < 10_000)
        token.cancel()
    }

    /// A post that waited is reported as a mistake, while other posts wait.
    @Test func theHookMayPostWhilePostsWait() async throws {
        struct Other: Center.Message {
            static let name = Ticks.name
            var text = "no number"
        }
        let test = try TestCenter()
        let center = test.center
        let got = Events<Int>()
        let token = try center.addObserver(for: Ticks.self) { got.add($0.number) }
        let told = Events<Center.Mistake.Kind>()
        center.onDiagnostic = { [weak center] diagnostic in
            guard case .mistake(let mistake) = diagnostic, let center else { return }
            #expect(throws: Never.self) {
                try center.enqueue(Ticks(number: 3), postingStyle: .whenIdle, coalescing: [])
            }
            center.postPending()
            told.add(mistake.kind)
        }
        // All posts are taken at once, however long this thread waits for a processor between them.
        try center.deferred.posting.withLock {
            try center.enqueue(Ticks(number: 1), postingStyle: .whenIdle, coalescing: [])
            try center.enqueue(Other(), postingStyle: .whenIdle, coalescing: [])
            try center.enqueue(Ticks(number: 2), postingStyle: .whenIdle, coalescing: [])
        }
        center.postPending()
        #expect(told.count == 1)
        await expectEqual(got.wait(for: 3), [1, 2, 3])
        token.cancel()
    }

    /// While the hook runs inside a deferred post, a post with style `.now` waits for that post only if it replaces it.
    @Test func aPostWaitsOnlyForTheRunningPostThatItReplaces() async throws {
        struct Other: Center.Message {
            static let name = Ticks.name
            var text = "no number"
        }
        let test = try TestCenter()
        let center = test.center
        let got = Events<String>()
        let token = try test.other().addObserver(forNames: ["ticks", "tocks"]) { notification in
            let number = try? notification.payload.decode(Ticks.self).number
            got.add("\(notification.name) \(number ?? -1)")
        }
        // Two types of one name are a mistake, reported to the hook before the second one is posted.
        try center.post(Ticks(number: 0))
        let (told, posted) = (Events<Void>(), Events<Int>())
        let gate = Gate()
        center.onDiagnostic = { diagnostic in
            guard case .mistake = diagnostic else { return }
            told.add(())
            gate.pass()
        }
        // All posts are taken at once.
        try center.deferred.posting.withLock {
            try center.enqueue(Other(), postingStyle: .whenIdle, coalescing: [])
            try center.enqueue(Ticks(number: 1), postingStyle: .whenIdle, coalescing: [], options: .init(subject: "s"))
            try center.enqueue(name: "tocks", postingStyle: .whenIdle)
        }
        let drain = try WorkerThread { center.postPending() }
        await told.wait(for: 1)
        // These do not wait. The last one replaces a post that was taken and has not begun.
        try center.enqueue(name: "tocks", userInfo: ["number": 2], postingStyle: .now)
        try center.enqueue(Ticks(number: 3), postingStyle: .now, coalescing: [])
        try center.enqueue(Ticks(number: 4), postingStyle: .now, options: .init(subject: "s"))
        let numbers = Events<Int32>()
        let poster = try WorkerThread {
            numbers.add(WorkerThread.currentNumber ?? 0)
            #expect(throws: Never.self) { try center.enqueue(Ticks(number: 5), postingStyle: .now) }
            posted.add(5)
        }
        let number = await numbers.wait(for: 1)[0]
        while posted.count == 0, ThreadTime.look(at: number)?.isReady == true { await Task.yield() }
        gate.open()
        for thread in [drain, poster] { thread.join() }
        expectEqual(
            await got.wait(for: 6), ["ticks 0", "tocks 2", "ticks 3", "ticks 4", "ticks -1", "ticks 5"])
        token.cancel()
    }

    @Test func failuresAreReported() async throws {
        let test = try TestCenter(.init(maximumPayloadSize: 1024))
        let told = Events<Center.Name>()
        test.center.onDiagnostic = { if case .postFailed(let name, _) = $0 { told.add(name) } }
        try test.center.enqueue(Track(1, title: String(repeating: "x", count: 5000)), postingStyle: .asap)
        expectEqual(await told.wait(for: 1), ["test.track"])
        #expect(throws: SharedNotificationError.self) {
            try test.center.enqueue(
                Track(1, title: String(repeating: "x", count: 5000)), postingStyle: .now)
        }
    }
}
