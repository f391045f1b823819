import Foundation
import Glibc
import Testing
import TidingsFoundation

@testable import Tidings

/// For programs that come from `DistributedNotificationCenter`, or GNUstep's with `gdnc`.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct DistributedCenterTests {
    @Test func theSameCallsAcrossProcesses() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<String>()
        let token = try center.addObserver(
            forNames: "com.example.changed", options: .init(subject: "player-1"), suspensionBehavior: .hold
        ) { notification in heard.add("\(notification.envelope.isOwn)") }
        let peer = try Peer(
            test, "observe-untyped", "com.example.changed", "player-1", "1", "untyped", "com.example.changed",
            "player-1",
            "untyped", "com.example.changed", "player-2")
        expectEqual(await peer.line(), "observing")
        try center.post(name: "com.example.changed", userInfo: ["volume": 0.5], options: .init(subject: "player-1"))
        expectEqual(await peer.line(2), #"com.example.changed player-1 {"volume":0.5}"#)
        await peer.waitForEnd()
        expectEqual(await heard.wait(for: 2), ["true", "false"])
        center.removeObserver(token)
    }

    @Test func urgentPostsReachASuspendedObserver() async throws {
        let test = try TestCenter()
        let center = test.center
        let peer = try Peer(test, "observe-suspended", "com.example.changed", "10", "3")
        expectEqual(await peer.line(), "suspended")
        try center.post(name: "com.example.changed", userInfo: ["number": 0], options: .init(deliverImmediately: false))
        try center.post(name: "com.example.changed", userInfo: ["number": 1], options: .init(deliverImmediately: true))
        expectEqual(await peer.lines.wait(for: 3), ["suspended", "got 0", "got 1"])
        try center.post(name: "com.example.changed", userInfo: ["number": 2])
        try center.post(name: "com.example.changed.now", userInfo: ["number": 3])
        expectEqual(await peer.lines.wait(for: 4).last, "now 3")
        peer.send()
        await peer.waitForEnd()
        expectEqual(await peer.lines.wait(for: 6).suffix(2).sorted(), ["got 2", "resumed"])
    }

    /// No daemon can restart and lose observers: an observer outlives every other process of its center, and the
    /// process that created the center.
    @Test func observersOutliveEveryOtherProcess() async throws {
        let test = try TestCenter()
        let heard = Events<Int32>()
        let token = try test.center.addObserver(forNames: "com.example.changed") { notification in
            heard.add(notification.envelope.poster.pid)
        }
        for round in 1...3 {
            let peer = try Peer(test, "observe", "x", "1")
            expectEqual(await peer.line(), "observing")
            let poster = try Peer(test, "post", "com.example.changed", "1", "kill")
            await poster.waitForEnd()
            peer.signal(SIGKILL)
            await peer.waitForEnd()
            expectEqual(await heard.wait(for: round).last, poster.pid)
        }
        _ = token
    }

    /// DistributedNotificationCenter drops a post silently if the server's queue is full.
    @Test func everyDroppedNotificationIsReported() async throws {
        let test = try TestCenter(smallRing)
        let peer = try Peer(test, "observe", "numbers", "1")
        expectEqual(await peer.line(), "observing")
        peer.signal(SIGSTOP)
        try peer.waitUntilStopped()
        for _ in 0..<1000 { try test.center.post(name: "numbers", userInfo: ["number": 1]) }
        peer.signal(SIGCONT)
        let missed = await peer.line(2)
        #expect(
            missed.hasPrefix("missed ") && Int(missed.dropFirst(7)).map { (744...999).contains($0) } == true,
            "\(missed)")
        expect(await peer.line(3)) { $0.hasPrefix("got 1 ") }
    }
}
