import Dispatch
import Testing

@testable import Tidings

/// Likely mistakes of a program are reported once.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct MistakeTests {
    /// The mistakes that a center's hook received.
    private static func told(_ center: Center) -> Events<Center.Mistake.Kind> {
        let told = Events<Center.Mistake.Kind>()
        center.onDiagnostic = { if case .mistake(let mistake) = $0 { told.add(mistake.kind) } }
        return told
    }

    private struct OtherTrack: Center.Message {
        static var name: Center.Name { Track.name }
        var number: Int
    }

    private enum Other {
        struct Track: Center.Message { var title: String }
    }
    private enum Another {
        struct Track: Center.Message { var title: String }
    }

    @Test func twoTypesUnderOneName() async throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        let token = try test.center.addObserver(for: Track.self) { _ in }
        try test.center.post(Track(1))
        #expect(told.count == 0)
        for _ in 0..<3 { try test.center.post(OtherTrack(number: 1)) }
        for _ in 0..<3 { _ = test.center.messages(of: OtherTrack.self) }
        #expect(told.count == 1)
        guard case .nameOfTwoTypes("test.track", let first, let second)? = told.all.first else {
            Issue.record("not reported")
            return
        }
        #expect(first.hasSuffix("Track") && second.contains("OtherTrack"))
        // Names that are derived from the types.
        _ = test.center.messages(of: Other.Track.self)
        _ = test.center.deliveries(of: Another.Track.self)
        #expect(told.count == 2)
        expect("\(Center.Mistake(told.all[1]))") { $0.contains("Other.Track") && $0.contains("static let name") }
        token.cancel()
    }

    @Test func aTokenThatIsNotStored() async throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        // On a busy machine, any time may pass between the call and its end.
        while told.count == 0 { _ = try test.center.addObserver(for: Track.self) { _ in } }
        #expect(told.all == [.tokenNotKept(["test.track"])])
        for _ in 0..<10 { _ = try test.center.addObserver(for: Track.self) { _ in } }
        #expect(told.count == 1)
        // Tokens that are cancelled explicitly, used, or not needed because a sequence observes.
        for _ in 0..<10 {
            try test.center.addObserver(forNames: ["a"]) { _ in }.cancel()
            _ = test.center.deliveries(ofNames: ["a"]).makeAsyncIterator()
        }
        try test.center.post(name: "b", payload: .text("kept"), options: .init(retain: true))
        for _ in 0..<10 {
            let got = Events<Void>()
            let token = try test.center.addObserver(forNames: ["b"]) { _ in got.add(()) }
            got.block(for: 1)
            _ = token
        }
        #expect(told.count == 1)
    }

    enum Place: CaseIterable { case dispatcher, queue, task, mainActor, globalActor, actor, owner }

    private final class Owner: Sendable {
        let post: @Sendable (Track) -> Void
        init(_ post: @escaping @Sendable (Track) -> Void) { self.post = post }
        func take(_ track: Track) { post(track) }
    }

    // A report needs 16,640 calls. Under a sanitizer, one context of the closure is enough.
    @Test(arguments: isSanitized ? [.dispatcher] : Place.allCases)
    func aClosureThatPostsTheNameItObserves(_ place: Place) async throws {
        let test = try TestCenter()
        let center = test.center
        let told = Self.told(center)
        @Sendable func post(_ track: Track) {
            if told.count == 0 { _ = try? center.post(Track(track.number + 1)) }
        }
        let (actor, owner) = (ClosureActor(), Owner { post($0) })
        var token: Center.ObservationToken?
        switch place {
        case .dispatcher: token = try center.addObserver(for: Track.self) { post($0) }
        case .queue: token = try center.addObserver(for: Track.self, options: .init(queue: .global())) { post($0) }
        case .task: token = try center.addObserver(for: Track.self) { track async in post(track) }
        case .mainActor: token = try center.addObserver(for: Track.self) { @MainActor in post($0) }
        case .globalActor: token = try center.addObserver(for: Track.self) { @TestActor in post($0) }
        case .actor:
            token = try center.addObserver(for: Track.self, options: .init(owner: actor)) { [weak actor] track in
                await actor?.run { post(track) }
            }
        case .owner:
            token = try center.addObserver(for: Track.self, options: .init(owner: owner)) { [weak owner] in
                owner?.take($0)
            }
        }
        try center.post(Track(0))
        expectEqual(await told.wait(for: 1), [.postsToItself(["test.track"])])
        await token?.cancelAndWait()
        for each in [actor, owner] as [AnyObject] { center.removeObservers(of: each) }
    }

    /// Before a post returns, the process's own observers are called, except the observer that posts.
    @Test @MainActor func aClosureThatPostsTheMainActorMessageItObserves() async throws {
        let test = try TestCenter()
        let center = test.center
        let told = Self.told(center)
        let token = center.addObserver(for: Paused.self) { paused in
            if told.count == 0 { center.post(Paused(at: paused.at + 1, by: "")) }
        }
        center.post(Paused(at: 0, by: ""))
        expectEqual(await told.wait(for: 1), [.postsToItself([Paused.name])])
        token.cancel()
    }

    /// Posts of a thread, posts of a closure under another name, and a closure that answers another process: these are
    /// no loops.
    @Test func postsThatAreNoLoopAreNotReported() async throws {
        let test = try TestCenter()
        let center = test.center
        let told = Self.told(center)
        let (seen, others) = (Events<Int>(), Events<Int>())
        let tokens = [
            try center.addObserver(for: Track.self) { track in
                _ = try? center.post(name: "other", payload: .empty)
                seen.add(track.number)
            },
            try center.addObserver(forNames: ["other"]) { _ in others.add(0) },
        ]
        // More than a report of a loop needs.
        let count = isSanitized ? 20_000 : 40_000
        for number in 0..<count {
            try center.post(Track(number))
            // One at a time, or many before the other process answers.
            if number % 2000 < 1000 { seen.block(for: number + 1) }
            if number % 1000 == 0 { seen.block(for: number + 1) }
        }
        await seen.wait(for: count)
        await others.wait(for: count)
        #expect(told.all == [])
        for token in tokens { token.cancel() }
    }

    @Test func hugePayloadsInAHotLoop() throws {
        let diagnostics = Diagnostics()
        let told = Events<Center.Mistake.Kind>()
        diagnostics.hook = { if case .mistake(let mistake) = $0 { told.add(mistake.kind) } }
        let posts = LargePosts(diagnostics)
        // 500 posts a second are never reported; 2,000 a second are reported once.
        for number in 0..<5000 as Range<UInt64> { posts.note("frames", now: number * 2_000_000) }
        #expect(told.count == 0)
        for number in 0..<5000 as Range<UInt64> { posts.note("frames", now: 20_000_000_000 + number * 500_000) }
        for number in 0..<500 as Range<UInt64> { posts.note("other", now: 20_000_000_000 + number) }
        #expect(told.all == [.hugePayloads("frames", size: 65_536)])
    }

    /// Each thread reads the clock before it counts, so a thread may count a time that is earlier than the last one.
    @Test func hugePayloadsOfSeveralThreads() {
        let posts = LargePosts(Diagnostics())
        posts.note("frames", now: 200)
        posts.note("frames", now: 100)
        for _ in 0..<20_000 {
            let posts = LargePosts(Diagnostics())
            DispatchQueue.concurrentPerform(iterations: 4) { _ in posts.note("frames") }
        }
    }

    @Test func hugePayloadsAreCountedHoweverTheyArePosted() throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        let track = Track(1, title: String(repeating: "x", count: 65_536))
        let bytes = Center.RawPayload(format: .bytes, bytes: [UInt8](repeating: 0, count: 65_536))
        // As fast as possible. A machine too busy for 1,000 posts a second repeats until it is fast enough.
        while told.count < 1 { for _ in 0..<1001 { try test.center.post(track) } }
        while told.count < 2 { for _ in 0..<1001 { try test.center.post(name: "raw", payload: bytes) } }
        #expect(told.all == [.hugePayloads("test.track", size: 65_536), .hugePayloads("raw", size: 65_536)])
        // Small payloads are not reported.
        for _ in 0..<3000 { try test.center.post(name: "small", payload: .text("small")) }
        #expect(told.count == 2)
    }
}
