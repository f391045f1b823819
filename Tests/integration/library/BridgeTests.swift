import Foundation
import Testing

@testable import Tidings
@testable import TidingsFoundation

/// The bridge to and from Foundation's center.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BridgeTests {
    private static let ticks = Foundation.Notification.Name("ticks")

    /// Observes "ticks" in a shared center, and counts them up to a last one.
    private final class Watcher: Sendable {
        private let center: Center
        private let got = Events<String?>()
        private let token: Center.ObservationToken

        init(_ test: TestCenter) throws {
            center = try test.other()
            let got = got
            token = try center.addObserver(forNames: ["ticks", "last"]) { got.add($0.envelope.subject) }
        }

        /// The number of ticks received before now.
        func count() async throws -> Int {
            let last = UUID().uuidString
            try center.post(name: "last", payload: .empty, options: .init(subject: last))
            var all = got.all
            while !all.contains(last) { all = await got.wait(for: all.count + 1) }
            return all.prefix { $0 != last }.count { $0?.count != last.count }
        }
    }

    /// Records what a `NotificationCenter` posts under "ticks": "OBJECT NUMBER".
    private final class Local: Sendable {
        let center = NotificationCenter()
        let got = Events<String>()

        init() {
            let got = got
            _ = center.addObserver(forName: BridgeTests.ticks, object: nil, queue: nil) { notification in
                got.add("\(notification.object as? String ?? "-") \(notification.userInfo?["number"] as? Int ?? -1)")
            }
        }

        func post(_ number: Int, object: Any? = nil) {
            center.post(name: BridgeTests.ticks, object: object, userInfo: ["number": number])
        }
    }

    @Test func bothWaysBetweenProcessesOnceAndNotBack() async throws {
        let test = try TestCenter()
        let local = Local()
        let bridge = try test.center.bridge(["ticks"], with: local.center)
        let peers = try (0..<2).map { _ in try Peer(test, "bridge", "ticks") }
        for peer in peers { expectEqual(await peer.line(), "bridged") }
        let watcher = try Watcher(test)
        for number in 0..<50 { local.post(number) }
        for peer in peers {
            expectEqual(await peer.lines.wait(for: 51).dropFirst(), ArraySlice((0..<50).map { "- \($0)" }))
        }
        for number in 50..<100 { peers[0].send("\(number)") }
        let all = (0..<50).map { "- \($0)" } + (50..<100).map { "peer \($0)" }
        expectEqual(await local.got.wait(for: 100), all)
        for peer in peers { expectEqual(await Array(peer.lines.wait(for: 101).dropFirst()), all) }
        // A tick that is posted here, without a bridge's forwarding, arrives in every process as well.
        try test.center.post(name: "ticks", userInfo: ["number": 100])
        expectEqual(await local.got.wait(for: 101).last, "- 100")
        for peer in peers {
            expectEqual(await peer.lines.wait(for: 102).last, "- 100")
            peer.send("end")
            await peer.waitForEnd()
            expectEqual(await peer.lines.wait(for: 103).count, 103)
        }
        // A tick that was forwarded back would precede the end of this count.
        expectEqual(try await watcher.count(), 101)
        #expect(local.got.count == 101)
        bridge.cancel()
        local.post(101)
        try test.center.post(name: "ticks", payload: .empty)
        expectEqual(try await watcher.count(), 102)
        #expect(local.got.all.dropFirst(101) == ["- 101"])
    }

    /// Two processes that each bridge two shared centers form a circle.
    @Test func aCircleOfBridgesForwardsNothingTwice() async throws {
        let (first, second) = (try TestCenter(), try TestCenter())
        let local = [Local(), Local()]
        let bridges = try local.flatMap { local in
            [
                try first.other().bridge(["ticks"], with: local.center),
                try second.other().bridge(["ticks"], with: local.center),
            ]
        }
        let watchers = [Events<Void>(), Events<Void>()]
        let tokens = [
            try first.center.addObserver(forNames: ["ticks"]) { _ in watchers[0].add(()) },
            try second.center.addObserver(forNames: ["ticks"]) { _ in watchers[1].add(()) },
        ]
        let infos: [[AnyHashable: Any]?] = [
            nil, [:], ["a": 1, "b": ["c": Date(), "d": Data([1])]], ["nan": Double.nan],
        ]
        for info in infos { local[0].center.post(name: Self.ticks, object: nil, userInfo: info) }
        // A post through each of the two centers.
        await local[1].got.wait(for: 2 * infos.count)
        for watcher in watchers { await watcher.wait(for: infos.count) }
        // The next tick is posted after every tick that the circle could have caused.
        local[1].post(1)
        await local[0].got.wait(for: infos.count + 2)
        for watcher in watchers { expectEqual(await watcher.wait(for: infos.count + 1).count, infos.count + 1) }
        #expect(local[0].got.count == infos.count + 2)
        #expect(local[1].got.count == 2 * infos.count + 1)
        for bridge in bridges { bridge.cancel() }
        for token in tokens { token.cancel() }
    }

    /// An observer answers a forwarded notification with one of the same name: the bridge forwards the answer.
    @Test func answersToForwardedNotificationsAreForwarded() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let local = NotificationCenter()
        // Foundation promises no order of calls: some observers are called before the bridge's, others after it.
        for _ in 0..<4 {
            _ = local.addObserver(forName: Self.ticks, object: nil, queue: nil) { notification in
                guard notification.object == nil else { return }
                local.post(name: Self.ticks, object: "answer", userInfo: notification.userInfo)
            }
        }
        let bridge = try test.center.bridge(["ticks"], with: local)
        let got = Events<String>()
        let token = try other.addObserver(forNames: "ticks", suspensionBehavior: .hold) {
            got.add("\($0.object ?? "-") \($0.userInfo?["number"]?.integer ?? -1)")
        }
        for number in 0..<10 { try other.post(name: "ticks", userInfo: ["number": .integer(number)]) }
        let all = await got.wait(for: 50)
        for number in 0..<10 {
            #expect(all.filter { $0 == "- \(number)" }.count == 1)
            #expect(all.filter { $0 == "answer \(number)" }.count == 4)
        }
        bridge.cancel()
        token.cancel()
    }

    /// The center object follows its name, and the last post to the first center was missed.
    @Test func ownPostsAreRecognizedInTheNextCenter() throws {
        let forwarding = Forwarding<Int>(.both) { $0 == $1 }
        for sequence in [5000, 0, 1, 2] as [UInt64] { try forwarding.outward(0) { sequence } }
        for sequence in [0, 1, 2] as [UInt64] {
            #expect(forwarding.isOwn(.init(sequence: sequence, incarnation: 2, isOwn: true)))
        }
        #expect(!forwarding.isOwn(.init(sequence: 3, incarnation: 2, isOwn: true)))
    }

    @Test(arguments: [Center.NotificationBridge.Direction.inward, .outward])
    func oneWayNothingIsRemembered(_ direction: Center.NotificationBridge.Direction) throws {
        let forwarding = Forwarding<Int>(direction) { $0 == $1 }
        try forwarding.outward(0) { 7 }
        #expect(!forwarding.isOwn(.init(sequence: 7, incarnation: 1, isOwn: true)))
        forwarding.willMeet(1)
        var isPosted = false
        try forwarding.outward(1) {
            isPosted = true
            return 8
        }
        #expect(isPosted)
    }

    @Test func oneWay() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let (inward, outward) = (Local(), Local())
        let bridges = [
            try test.center.bridge(["ticks"], with: inward.center, direction: .inward),
            try test.center.bridge(["ticks"], with: outward.center, direction: .outward),
        ]
        let got = Events<Int>()
        let token = try other.addObserver(forNames: "ticks") {
            got.add($0.userInfo?["number"]?.integer ?? -1)
        }
        inward.post(1)
        outward.post(2)
        try other.post(name: "ticks", userInfo: ["number": 3])
        expectEqual(await got.wait(for: 2), [2, 3])
        expectEqual(await inward.got.wait(for: 3), ["- 1", "- 2", "- 3"])
        #expect(outward.got.all == ["- 2"])
        for bridge in bridges { bridge.cancel() }
        token.cancel()
    }

    @Test func anObjectThatCannotBeSentIsReported() async throws {
        let test = try TestCenter()
        let told = Events<String>()
        test.center.onDiagnostic = {
            if case .postFailed("ticks", let error) = $0 { told.add("\(error.code)") }
        }
        let watcher = try Watcher(test)
        let local = Local()
        let bridge = try test.center.bridge(["ticks"], with: local.center)
        local.post(1, object: 42)
        local.center.post(name: Self.ticks, object: nil, userInfo: ["closure": {}])
        #expect(told.all == ["encodingFailed", "encodingFailed"])
        expectEqual(try await watcher.count(), 0)
        bridge.cancel()
    }

    struct Tick: Center.Message, NotificationCenter.AsyncMessage, Equatable {
        typealias Subject = TestCenter
        static var name: Center.Name { "ticks" }
        var number: Int
    }

    struct MainTick: Center.Message, NotificationCenter.MainActorMessage, Equatable {
        typealias Subject = TestCenter
        static var name: Center.Name { "ticks" }
        var number: Int
    }

    @Test func messagesOfBothSides() async throws {
        let test = try TestCenter()
        let local = NotificationCenter()
        let bridge = try test.center.bridge(Tick.self, with: local)
        let peer = try Peer(test, "observe", "ticks", "100", "wait", "post", "ticks", "100")
        expectEqual(await peer.line(), "observing")
        let got = Events<Int>()
        let token = local.addObserver(of: nil, for: Tick.self) { got.add($0.number) }
        for number in 0..<100 { local.post(Tick(number: number)) }
        await peer.lines.wait(for: 101)
        // Foundation does not promise an order here.
        let numbers = peer.lines.all.dropFirst().compactMap { Int($0.split(separator: " ")[1]) }
        #expect(numbers.sorted() == Array(0..<100))
        let watcher = try Watcher(test)
        peer.send()
        await peer.waitForEnd()
        expectEqual(await got.wait(for: 200).sorted(), (0..<100).flatMap { [$0, $0] })
        // At the end, the bridge received its own notifications, and forwarded none of them.
        try test.center.post(Tick(number: 1000))
        await got.wait(for: 201)
        local.post(Tick(number: 1001))
        while try await watcher.count() < 102 {}
        expectEqual(try await watcher.count(), 102)
        local.removeObserver(token)
        bridge.cancel()
    }

    @Test @MainActor func messagesOfTheMainActor() async throws {
        let test = try TestCenter()
        let local = NotificationCenter()
        let bridge = try test.center.bridge(MainTick.self, with: local)
        let peer = try Peer(test, "observe", "ticks", "100", "wait", "post", "ticks", "100")
        expectEqual(await peer.line(), "observing")
        let watcher = try Watcher(test)
        let got = Events<Int>()
        let token = local.addObserver(of: nil, for: MainTick.self) { got.add($0.number) }
        for number in 0..<100 { local.post(MainTick(number: number)) }
        let lines = await peer.lines.wait(for: 101)
        #expect(lines.dropFirst().compactMap { Int($0.split(separator: " ")[1]) } == Array(0..<100))
        peer.send()
        await peer.waitForEnd()
        expectEqual(await got.wait(for: 200), Array(0..<100) + Array(0..<100))
        expectEqual(try await watcher.count(), 200)
        local.removeObserver(token)
        bridge.cancel()
    }
}
