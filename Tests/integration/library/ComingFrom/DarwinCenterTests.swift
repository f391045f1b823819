import Foundation
import Testing
import TidingsFoundation

@testable import Tidings

/// For programs that come from `CFNotificationCenterGetDarwinNotifyCenter`.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct DarwinCenterTests {
    @Test func aNamePostedReachesOtherProcesses() async throws {
        let test = try TestCenter()
        let center = test.center
        let peers = try (0..<3).map { _ in try Peer(test, "observe", "com.example.changed", "1") }
        for peer in peers { expectEqual(await peer.line(), "observing") }
        try center.post(name: "com.example.changed")
        for peer in peers { expect(await peer.line(2)) { $0.hasPrefix("got -1 ") } }
    }

    @Test func removingOneAndRemovingAll() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<Int>()
        let token = try center.addObserver(forNames: "com.example.changed") { _ in heard.add(0) }
        var tokens: Set<Center.ObservationToken> = []
        for number in 1...3 {
            try center.addObserver(forNames: "com.example.changed") { _ in heard.add(number) }.store(
                in: &tokens)
        }
        let peer = try Peer(
            test, "wait", "post", "com.example.changed", "1", "wait", "post", "com.example.changed", "1")
        center.removeObserver(token)
        peer.send()
        expectEqual(await heard.wait(for: 3).sorted(), [1, 2, 3])
        tokens.removeAll()
        let last = Events<Int>()
        let witness = try center.addObserver(forNames: "com.example.changed") { _ in last.add(1) }
        peer.send()
        await last.wait(for: 1)
        #expect(heard.count == 3)
        _ = witness
    }

    /// The Darwin center has neither, and needs the main run loop.
    @Test @MainActor func objectAndUserInfoComeWhileTheMainThreadIsBlocked() async throws {
        let test = try TestCenter()
        let heard = Events<String>()
        let token = try test.center.addObserver(forNames: "com.example.changed") { notification in
            let isEverything = notification.userInfo == UntypedTests.everything
            heard.add("\(notification.object ?? "-") \(isEverything) \(Thread.isMainThread)")
        }
        let peer = try Peer(test, "untyped", "com.example.changed", "player-1")
        heard.block(for: 1)
        #expect(heard.all == ["player-1 true false"])
        _ = (token, peer)
    }
}
