import Foundation
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

struct Numbered: Codable, Equatable {
    var number: Int
}

/// Tests with several processes. `TestPeer` runs in the other processes.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ProcessTests {
    struct Ticks: Center.Message, Equatable {
        static let name: Center.Name = "ticks"
        var number: Int
    }

    @Test func aPostOfAnotherProcessArrivesWithItsPoster() async throws {
        let test = try TestCenter()
        let got = Events<(Ticks, Center.Envelope)>()
        let token = try test.center.addObserver(for: Ticks.self) { got.add(($0, $1)) }
        let peer = try Peer(test, "post", "ticks", "100", "wait")
        let all = await got.wait(for: 100)
        #expect(all.map(\.0.number) == Array(0..<100))
        #expect(all.allSatisfy { !$0.1.isOwn && $0.1.poster.pid == peer.pid && $0.1.poster.executable == "TestPeer" })
        token.cancel()
    }

    @Test func oneOrderForAll() async throws {
        let test = try TestCenter()
        let watchers = try (0..<2).map { _ in try Peer(test, "observe", "ticks", "400") }
        for watcher in watchers { expectEqual(await watcher.line(), "observing") }
        let posters = try (0..<4).map { _ in try Peer(test, "wait", "post", "ticks", "100") }
        for poster in posters { poster.send() }
        for watcher in watchers { await watcher.waitForEnd() }
        for poster in posters { await poster.waitForEnd() }
        var seen: [[String]] = []
        for watcher in watchers { seen.append(await watcher.lines.wait(for: 401)) }
        #expect(seen[0].count == 401)
        #expect(seen[0] == seen[1])
    }

    @Test func aKilledPosterLeavesNoOrphansThatDelayPosts() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let token = try test.center.addObserver(for: Ticks.self) { got.add($0.number) }
        let peer = try Peer(test, "post", "ticks", "10", "encode-and-kill", "ticks")
        await peer.waitForEnd()
        expectEqual(await got.wait(for: 10), Array(0..<10))
        try test.center.post(Ticks(number: 10))
        expectEqual(await got.wait(for: 11), Array(0...10))
        try test.center.reclaim()
        let statistics = try test.center.statistics
        #expect(statistics.participants == 1 && statistics.chunks == 0)
        token.cancel()
    }

    @Test func aPosterStoppedInItsEncoderDelaysNoOtherProcess() async throws {
        let test = try TestCenter()
        let got = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: ["ticks"]) { got.add($0) }
        let peer = try Peer(test, "encode-and-stop", "ticks")
        expectEqual(await peer.line(), "stopping")
        try peer.waitUntilStopped()
        for number in 0..<10_000 { try test.center.post(Ticks(number: number)) }
        await got.wait(for: 1)
        let before = got.count
        peer.signal(SIGCONT)
        await peer.waitForEnd()
        while got.all.last?.payload.bytes.count ?? 0 < 100_000 { await Task.yield() }
        #expect(before > 0)
        #expect(got.all.last?.envelope.poster.pid == peer.pid)
        token.cancel()
    }

    @Test func aKilledObserverIsForgotten() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "lossless", "ticks", "100000")
        expectEqual(await peer.line(), "observing")
        // It takes no notification, so posters are held back when the ring is full, until it dies.
        var posted = 0
        while (try? test.center.post(Ticks(number: posted))) != nil { posted += 1 }
        peer.signal(SIGKILL)
        await peer.waitForEnd()
        #expect(throws: Never.self) {
            try test.center.post(Ticks(number: posted), options: .init(timeout: .seconds(100_000)))
        }
        try test.center.reclaim()
        #expect(try test.center.statistics.observersLossless == 0)
    }

    @Test func aStoppedObserverIsToldHowManyItMissed() async throws {
        let test = try TestCenter(smallRing)
        let peer = try Peer(test, "observe", "ticks", "1000000")
        expectEqual(await peer.line(), "observing")
        peer.signal(SIGSTOP)
        try peer.waitUntilStopped()
        for number in 0..<1000 { try test.center.post(Ticks(number: number)) }
        peer.signal(SIGCONT)
        try test.center.post(Ticks(number: 1000))
        while !(peer.lines.all.last?.hasPrefix("got 1000 ") ?? false) { await Task.yield() }
        let missed = peer.lines.all.compactMap { $0.hasPrefix("missed ") ? Int($0.dropFirst(7)) : nil }.reduce(0, +)
        let got = peer.lines.all.filter { $0.hasPrefix("got ") }.count
        #expect(missed > 0 && missed + got == 1001)
    }

    @Test func retainedValuesOutliveTheirPoster() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "retain", "ticks", "7")
        expectEqual(await peer.line(), "retained")
        await peer.waitForEnd()
        #expect(try test.center.state(for: Ticks.self) == Ticks(number: 7))
        var iterator = test.center.messages(of: Ticks.self).makeAsyncIterator()
        expectEqual(await iterator.next(), Ticks(number: 7))
    }

    /// The objects that each process has once are made at their first use, by any number of threads.
    @Test func aForkLocalObjectIsMadeOnce() {
        final class Object: Sendable {}
        for _ in 0..<5_000 {
            let local = ForkLocal { Object() }
            let found = Locked<[Object]>([])
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                let object = local.object
                found.withLock { $0.append(object) }
            }
            expectEqual(Set(found.withLock { $0 }.map(ObjectIdentifier.init)).count, 1)
        }
    }

    /// `fork` without `exec`, of a process with a running dispatcher. In the peer, because all other threads must sleep
    /// during the fork: Swift's runtime does not survive a fork while another of its threads holds one of its locks.
    @Test func aForkedChildPostsAndCannotObserve() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "fork", "ticks")
        expectEqual(await peer.line(), "child ended with 0")
        expectEqual(await peer.line(2), "got 1 own, 2 child, 3 child, 4 child")
        await peer.waitForEnd()
    }

    /// At the fork, another thread of the parent can hold the lock of the diagnostics.
    @Test(.enabled(if: getenv("TSAN_OPTIONS") == nil, "Swift locks at each use of a global then, also at the fork"))
    func aForkedChildHasDiagnosticsOfItsOwn() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "fork-beside-diagnostics", "200")
        expectEqual(await peer.line(), "forked 200")
        await peer.waitForEnd()
    }
}
