import Dispatch
import Testing
import TidingsAdministration

@testable import Tidings

/// For programs that come from `LKBroadcaster`.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BroadcasterTests {
    static let volumeChanged = Center.Key<Double>("com.example.volume")

    @Test func aNotificationIsDeclaredOnceWithItsContent() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<Double>()
        var tokens: [Center.ObservationToken] = []
        try center.addObserver(for: Self.volumeChanged, options: .init(queue: .global())) { volume in heard.add(volume)
        }.store(
            in: &tokens)
        let peer = try Peer(test, "observe", "com.example.volume", "1")
        expectEqual(await peer.line(), "observing")
        try center.post(Self.volumeChanged, 0.5)
        expect(await peer.line(2)) { $0.hasPrefix("got ") }
        let poster = try Peer(test, "post-json", "com.example.volume", "[0.25]")
        await poster.waitForEnd()
        expectEqual(await heard.wait(for: 2), [0.5, 0.25])
        tokens = []
    }

    /// In LKBroadcaster, a cancellable that is not stored leaks with its observer. Here the compiler warns, and the
    /// observation ends.
    @Test func anObserverWithoutAStoredTokenReceivesNothing() async throws {
        let test = try TestCenter()
        let heard = Events<Double>()
        _ = try test.center.addObserver(for: Self.volumeChanged) { heard.add($0) }
        #expect(try test.center.statistics.observers == 0)
        let poster = try Peer(test, "post-json", "com.example.volume", "[0.5]")
        await poster.waitForEnd()
        #expect(heard.count == 0)
    }

    /// LKBroadcaster skips it silently.
    @Test func anotherTypeIsReported() async throws {
        let test = try TestCenter()
        let heard = Events<String>()
        let token = try test.center.addObserver(
            for: Self.volumeChanged,
            options: .init(onUndecodable: { notification, _ in heard.add("undecodable \(notification.payload.json)") }),
            using: { heard.add("\($0)") })
        let poster = try Peer(
            test, "post-json", "com.example.volume", #"["loud"]"#, "post-json", "com.example.volume", "[1]")
        expectEqual(await heard.wait(for: 2), [#"undecodable ["loud"]"#, "1.0"])
        _ = (token, poster)
    }

    @Test func afterCancelNothingIsCalledFromAnyThread() async throws {
        let test = try TestCenter()
        let center = test.center
        let poster = try Peer(test, "wait", "post", "numbers", "20000")
        let late = Events<Int>()
        let started = Events<Int>()
        let witness = try center.addObserver(forNames: ["numbers"]) { _ in started.add(0) }
        poster.send()
        await started.wait(for: 1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await onThread {
                        for _ in 0..<50 {
                            let isOver = Locked(false)
                            let token = try? center.addObserver(forNames: ["numbers"]) { _ in
                                if isOver.withLock({ $0 }) { late.add(1) }
                            }
                            token?.cancel()
                            isOver.withLock { $0 = true }
                        }
                    }
                }
            }
        }
        await poster.waitForEnd()
        #expect(late.count == 0)
        _ = witness
    }
}
