import Dispatch
import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

/// Center objects whose delivery is suspended.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct SuspensionTests {
    /// The events of an observer: "NAME/OBJECT NUMBER", or "missed COUNT".
    private final class Seen: Sendable {
        let events = Events<String>()
        let token: Center.ObservationToken

        init(
            _ center: Center, _ behavior: Center.SuspensionBehavior, name: Center.Name? = nil, object: String? = nil,
            queue: DispatchQueue? = nil
        ) throws {
            let events = events
            token = try center.addObserver(
                forNames: .init(name.map { [$0] }),
                options: .init(
                    subject: object, queue: queue,
                    onMissed: { count, name in events.add("missed \(count) \(name?.rawValue ?? "-")") }),
                suspensionBehavior: behavior,
                using: { notification in
                    let number = notification.userInfo?["number"]?.integer ?? -1
                    events.add("\(notification.name)/\(notification.object ?? "-") \(number)")
                })
        }

        func wait(_ count: Int) async -> [String] { await events.wait(for: count) }
        var all: [String] { events.all }
    }

    private static let behaviors: [Center.SuspensionBehavior] = [.drop, .coalesce, .hold, .deliverImmediately]

    private static func post(
        _ center: Center, _ name: Center.Name, _ number: Int, object: String? = nil, immediately: Bool = false
    ) throws {
        try center.post(
            name: name, userInfo: ["number": .integer(number)],
            options: .init(subject: object, deliverImmediately: immediately))
    }

    @Test(arguments: [false, true])
    func theFourBehaviorsAcrossProcesses(onQueue: Bool) async throws {
        let test = try TestCenter()
        let queue = onQueue ? DispatchQueue(label: "test", attributes: .concurrent) : nil
        let seen = try Self.behaviors.map { try Seen(test.center, $0, name: "ticks", queue: queue) }
        // Posts {"number": 0…3}.
        let peer = try Peer(test, "wait", "post-subject", "ticks", "a", "2", "post", "ticks", "2")
        try Self.post(test.center, "ticks", 10)
        for each in seen { expectEqual(await each.wait(1), ["ticks/- 10"]) }
        test.center.isSuspended = true
        peer.send()
        await peer.waitForEnd()
        expectEqual(await seen[3].wait(5), ["ticks/- 10", "ticks/a 0", "ticks/a 1", "ticks/- 0", "ticks/- 1"])
        try Self.post(test.center, "ticks", 11, object: "b")
        _ = await seen[3].wait(6)
        // Posted later than all of those to the same dispatcher, so no other notification is in flight.
        #expect(seen[..<3].allSatisfy { $0.all == ["ticks/- 10"] })
        test.center.isSuspended = false
        try Self.post(test.center, "ticks", 12)
        expectEqual(await seen[0].wait(2), ["ticks/- 10", "ticks/- 12"])
        expectEqual(await seen[1].wait(5), ["ticks/- 10", "ticks/a 1", "ticks/- 1", "ticks/b 11", "ticks/- 12"])
        expectEqual(
            await seen[2].wait(7),
            [
                "ticks/- 10", "ticks/a 0", "ticks/a 1", "ticks/- 0", "ticks/- 1", "ticks/b 11", "ticks/- 12",
            ])
        expectEqual(await seen[3].wait(7).last, "ticks/- 12")
        for each in seen { each.token.cancel() }
    }

    @Test func anUrgentPostDeliversHeldNotificationsFirst() async throws {
        let test = try TestCenter()
        let poster = try test.other()
        let seen = try Self.behaviors.map { try Seen(test.center, $0) }
        test.center.isSuspended = true
        try Self.post(poster, "a", 1)
        try Self.post(poster, "a", 2)
        try Self.post(poster, "a", 3, immediately: true)
        expectEqual(await seen[0].wait(1), ["a/- 3"])
        expectEqual(await seen[1].wait(2), ["a/- 2", "a/- 3"])
        expectEqual(await seen[2].wait(3), ["a/- 1", "a/- 2", "a/- 3"])
        // The center is still suspended.
        try Self.post(poster, "a", 4)
        expectEqual(await seen[3].wait(4), ["a/- 1", "a/- 2", "a/- 3", "a/- 4"])
        #expect(seen[2].all.count == 3)
        test.center.isSuspended = false
        expectEqual(await seen[2].wait(4).last, "a/- 4")
        expectEqual(await seen[1].wait(3).last, "a/- 4")
        for each in seen { each.token.cancel() }
    }

    @Test func anUrgentPostOfAnotherProcessDeliversHeldNotificationsFirst() async throws {
        let test = try TestCenter()
        let seen = try Self.behaviors.map { try Seen(test.center, $0, name: "a") }
        test.center.isSuspended = true
        // Posts {"number": 0…1}.
        let peer = try Peer(test, "post", "a", "2", "urgent", "a", "-", "7", "post", "a", "1")
        expectEqual(await seen[0].wait(1), ["a/- 7"])
        expectEqual(await seen[1].wait(2), ["a/- 1", "a/- 7"])
        expectEqual(await seen[2].wait(3), ["a/- 0", "a/- 1", "a/- 7"])
        expectEqual(await seen[3].wait(4), ["a/- 0", "a/- 1", "a/- 7", "a/- 0"])
        #expect(seen.map(\.all.count) == [1, 2, 3, 4])
        test.center.isSuspended = false
        expectEqual(await seen[2].wait(4).last, "a/- 0")
        expectEqual(await seen[1].wait(3).last, "a/- 0")
        await peer.waitForEnd()
        try Self.post(test.center, "a", 8)
        expectEqual(await seen[0].wait(2).last, "a/- 8")
        for each in seen { each.token.cancel() }
    }

    /// The reverse: another process is suspended.
    @Test func anotherProcessIsSuspended() async throws {
        let test = try TestCenter()
        let heard = Events<Int>()
        let token = try test.center.addObserver(forNames: "a", suspensionBehavior: .hold) { notification in
            heard.add(notification.userInfo?["number"]?.integer ?? -1)
        }
        let peer = try Peer(test, "observe-suspended", "a", "3", "9")
        expectEqual(await peer.line(), "suspended")
        for number in 0..<2 { try Self.post(test.center, "a", number) }
        // The center objects of this process are not suspended.
        expectEqual(await heard.wait(for: 2), [0, 1])
        #expect(!test.center.isSuspended)
        try Self.post(test.center, "a.now", 50)
        expectEqual(await peer.lines.wait(for: 2), ["suspended", "now 50"])
        try Self.post(test.center, "a", 2, immediately: true)
        expectEqual(await peer.lines.wait(for: 5).dropFirst(2), ["got 0", "got 1", "got 2"])
        // Three of these are held, and the process reports the others as missed.
        for number in 3..<12 { try Self.post(test.center, "a", number) }
        try Self.post(test.center, "a.now", 51)
        expectEqual(await peer.lines.wait(for: 6).last, "now 51")
        peer.send()
        let resumed = ["resumed", "missed 6 a", "got 9", "got 10", "got 11"]
        expectEqual(await peer.lines.wait(for: 11).dropFirst(6).sorted(), resumed.sorted())
        expectEqual(await peer.lines.wait(for: 11).filter { $0 != "resumed" }.suffix(4), resumed[1...])
        try Self.post(test.center, "a", 12)
        try Self.post(test.center, "a", 13)
        expectEqual(await peer.lines.wait(for: 13).suffix(2), ["got 12", "got 13"])
        expectEqual(await heard.wait(for: 14).count, 14)
        token.cancel()
    }

    @Test func droppedNotificationsOfAnotherProcessAreCounted() async throws {
        let test = try TestCenter()
        let held = try Seen(test.center, .hold(limit: 3), name: "a")
        let coalesced = try Seen(test.center, .coalesce(limit: 2))
        let marker = try Seen(test.center, .deliverImmediately)
        test.center.isSuspended = true
        let peer = try Peer(
            test, "post", "a", "10", "post-subject", "b", "x", "2", "post-subject", "b", "y", "2", "post", "end", "1")
        _ = await marker.wait(15)
        #expect(held.all.isEmpty && coalesced.all.isEmpty)
        test.center.isSuspended = false
        expectEqual(await held.wait(4), ["missed 7 a", "a/- 7", "a/- 8", "a/- 9"])
        // Of four names and objects, two are held.
        expectEqual(await coalesced.wait(3), ["missed 2 -", "b/y 1", "end/- 0"])
        await peer.waitForEnd()
        for each in [held, coalesced, marker] { each.token.cancel() }
    }

    @Test func droppedNotificationsAreCounted() async throws {
        let test = try TestCenter()
        let held = try Seen(test.center, .hold(limit: 3))
        let coalesced = try Seen(test.center, .coalesce(limit: 2))
        let marker = try Seen(test.center, .deliverImmediately)
        test.center.isSuspended = true
        for number in 0..<10 { try Self.post(test.center, "a", number) }
        for number in 0..<5 { try Self.post(test.center, "b", number, object: "\(number)") }
        _ = await marker.wait(15)
        test.center.isSuspended = false
        expectEqual(await held.wait(4), ["missed 12 -", "b/2 2", "b/3 3", "b/4 4"])
        expectEqual(await coalesced.wait(3), ["missed 4 -", "b/3 3", "b/4 4"])
        // The queue is as empty as before.
        test.center.isSuspended = true
        for number in 20..<25 { try Self.post(test.center, "a", number) }
        _ = await marker.wait(20)
        test.center.isSuspended = false
        expectEqual(await held.wait(8).dropFirst(4), ["missed 2 a", "a/- 22", "a/- 23", "a/- 24"])
        expectEqual(await coalesced.wait(4).dropFirst(3), ["a/- 24"])
        for each in [held, coalesced, marker] { each.token.cancel() }
    }

    @Test func suspensionsNest() async throws {
        let test = try TestCenter()
        let center = test.center
        let held = try Seen(center, .hold)
        let marker = try Seen(center, .deliverImmediately)
        center.suspend()
        center.suspend()
        center.isSuspended = true
        center.isSuspended = true
        try Self.post(center, "a", 1)
        _ = await marker.wait(1)
        center.resume()
        #expect(center.isSuspended)
        center.isSuspended = false
        #expect(center.isSuspended && held.all.isEmpty)
        center.resume()
        #expect(!center.isSuspended)
        expectEqual(await held.wait(1), ["a/- 1"])
        // One resumption more than suspensions.
        center.resume()
        center.suspend()
        #expect(center.isSuspended)
        center.resume()
        try Self.post(center, "a", 2)
        expectEqual(await held.wait(2), ["a/- 1", "a/- 2"])
        for each in [held, marker] { each.token.cancel() }
    }

    @Test func onlyThisCenterObjectIsSuspended() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let elsewhere = try Seen(other, .hold)
        let typed = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { typed.add($0.number) }
        test.center.isSuspended = true
        // Added during the suspension.
        let held = try Seen(test.center, .hold)
        try test.center.post(Track(1))
        await typed.wait(for: 1)
        _ = await elsewhere.wait(1)
        #expect(held.all.isEmpty)
        test.center.isSuspended = false
        expectEqual(await held.wait(1), ["test.track/- 1"])
        for each in [held, elsewhere] { each.token.cancel() }
        token.cancel()
    }

    @Test func onlyThisCenterObjectIsSuspendedForPostsOfAnotherProcess() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let elsewhere = try Seen(other, .hold, name: "a")
        let held = try Seen(test.center, .hold, name: "a")
        test.center.isSuspended = true
        // The other process is not suspended either.
        let peer = try Peer(test, "observe-untyped", "a", "-", "2", "wait", "post", "a", "1")
        expectEqual(await peer.line(), "observing")
        try Self.post(test.center, "a", 7)
        try Self.post(other, "a", 8)
        expectEqual(await peer.lines.wait(for: 3).dropFirst(), [#"a - {"number":7}"#, #"a - {"number":8}"#])
        peer.send()
        expectEqual(await elsewhere.wait(3), ["a/- 7", "a/- 8", "a/- 0"])
        await peer.waitForEnd()
        // Each center object has a dispatcher thread: delivery by one does not imply delivery by the other.
        let marker = try Seen(test.center, .deliverImmediately, name: "a")
        try Self.post(other, "a", 9)
        _ = await marker.wait(1)
        #expect(held.all.isEmpty && test.center.isSuspended && !other.isSuspended)
        test.center.isSuspended = false
        expectEqual(await held.wait(4), ["a/- 7", "a/- 8", "a/- 0", "a/- 9"])
        for each in [held, elsewhere, marker] { each.token.cancel() }
    }

    @Test func nothingComesAfterCancel() async throws {
        let test = try TestCenter()
        let held = try Seen(test.center, .hold)
        let marker = try Seen(test.center, .deliverImmediately)
        test.center.isSuspended = true
        for number in 0..<10 { try Self.post(test.center, "a", number) }
        _ = await marker.wait(10)
        held.token.cancel()
        test.center.isSuspended = false
        try Self.post(test.center, "a", 10)
        _ = await marker.wait(11)
        #expect(held.all.isEmpty)
        marker.token.cancel()
    }

    /// Suspended and resumed again and again, while another process posts: every notification once, in order, one at a
    /// time.
    @Test(arguments: [false, true])
    func orderHoldsThroughout(onQueue: Bool) async throws {
        let test = try TestCenter()
        let count = 2000
        let (got, overlaps) = (Events<Int>(), Events<Void>())
        let isInside = Locked(false)
        let token = try test.center.addObserver(
            forNames: "ticks",
            options: .init(queue: onQueue ? DispatchQueue(label: "test", attributes: .concurrent) : nil),
            suspensionBehavior: .hold(limit: count)
        ) { notification in
            if isInside.withLock({ inside in
                defer { inside = true }
                return inside
            }) {
                overlaps.add(())
            }
            got.add(notification.userInfo?["number"]?.integer ?? -1)
            isInside.withLock { $0 = false }
        }
        let center = test.center
        let peer = try Peer(test, "post", "ticks", "\(count)")
        let toggling = Task.detached {
            while !Task.isCancelled {
                center.isSuspended = true
                await Task.yield()
                center.isSuspended = false
                await Task.yield()
            }
        }
        let all = await got.wait(for: count)
        toggling.cancel()
        await toggling.value
        await peer.waitForEnd()
        #expect(all == Array(0..<count) && overlaps.count == 0)
        #expect(try test.center.statistics.missed == 0)
        token.cancel()
    }

    private enum Flag {
        @TaskLocal static var isSet = false
    }

    /// Whatever the task has that ends the suspension, the closure runs in a task of its own.
    @Test func aClosureGetsNothingOfTheTaskThatResumes() async throws {
        let test = try TestCenter()
        let seen = Events<Bool>()
        let token = try test.center.addObserver(forNames: "test.name", suspensionBehavior: .hold) { @MainActor _ in
            seen.add(Flag.isSet)
        }
        let observation = try #require(token.anchor).observation
        test.center.suspend()
        try test.center.post(name: "test.name")
        while observation.dispatcher.lock.withLock({ observation.machine.isIdle }) { await Task.yield() }
        Flag.$isSet.withValue(true) { test.center.resume() }
        await expectEqual(seen.wait(for: 1), [false])
        token.cancel()
    }

    /// An observer that drops held notifications is still told of losses. A peer may cause losses without end, so the
    /// memory is bounded: of more than 1,024 reports, the oldest are merged into one report with the same sum.
    @Test func reportsOfLossesAreBoundedWhileNotificationsAreDropped() {
        var held = HeldItems(.drop)
        var buffer = DeliveryBuffer(.closure)
        for number in 0..<5000 { held.push(.missed(2, Center.Name("n\(number % 3)"))) }
        held.moveAll(to: &buffer)
        var counts: [Int] = []
        while case .missed(let count, _)? = buffer.pop() { counts.append(count) }
        #expect(counts.count == 1025)
        #expect(counts.reduce(0, +) == 10_000)
        #expect(held.isEmpty && buffer.isEmpty)
    }

    @Test func manyNamesCoalesceWithinBounds() {
        func item(_ name: String, _ sequence: UInt64) -> Item {
            let facts = Center.Envelope(
                sequence: sequence, incarnation: 1, postedAtNanoseconds: 0,
                poster: .init(pid: 1, uid: 1, executable: nil),
                subject: nil,
                isRetained: false, isOwn: false, isCleared: false)
            return .arrival(Arrival(name: .init(name), format: 0, bytes: .owned([1]), origin: .envelope(facts)))
        }
        var held = HeldItems(.coalesce(limit: 100))
        for number in 0..<100_000 as Range<UInt64> { held.push(item("\(number % 99)", number)) }
        held.push(.missed(3, nil))
        for number in 200_000..<200_050 as Range<UInt64> { held.push(item("more \(number)", number)) }
        var buffer = DeliveryBuffer(.closure)
        held.moveAll(to: &buffer)
        #expect(held.isEmpty && buffer.count == 101)
        guard case .missed(50, nil) = buffer.pop() else {
            Issue.record("not reported")
            return
        }
        var sequences: [UInt64] = []
        var missed = 0
        while let item = buffer.pop() {
            switch item {
            case .arrival(let arrival): sequences.append(arrival.envelope.sequence)
            case .missed(let count, _): missed += count
            case .reopened, .ended: break
            }
        }
        #expect(sequences == Array(99_951..<100_000) + Array(200_000..<200_050))
        #expect(missed == 3)
    }
}
