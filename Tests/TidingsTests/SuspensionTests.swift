import Dispatch
import Testing

@testable import Tidings

/// Center objects that hold back for a while.
@Suite(.timeLimit(.minutes(10)))
struct SuspensionTests {
    /// What an observer got: "NAME/OBJECT NUMBER", or "missed COUNT".
    private final class Seen: Sendable {
        let events = Events<String>()
        let token: Center.ObservationToken

        init(
            _ center: Center, _ behavior: Center.SuspensionBehavior, name: Center.Name? = nil, object: String? = nil,
            queue: DispatchQueue? = nil
        ) throws {
            let events = events
            token = try center.addObserver(
                forName: name, object: object, suspensionBehavior: behavior,
                onMissed: { count, name in events.add("missed \(count) \(name?.rawValue ?? "-")") }, queue: queue,
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
            name: name, object: object, userInfo: ["number": .integer(number)], deliverImmediately: immediately)
    }

    @Test(arguments: [false, true])
    func theFourBehaviorsAcrossProcesses(onQueue: Bool) async throws {
        let test = try TestCenter()
        let queue = onQueue ? DispatchQueue(label: "test", attributes: .concurrent) : nil
        let seen = try Self.behaviors.map { try Seen(test.center, $0, name: "ticks", queue: queue) }
        // Posts {"number": 0…3}.
        let peer = try Peer(test, "wait", "post-subject", "ticks", "a", "2", "post", "ticks", "2")
        try Self.post(test.center, "ticks", 10)
        for each in seen { #expect(await each.wait(1) == ["ticks/- 10"]) }
        test.center.isSuspended = true
        peer.send()
        await peer.waitForEnd()
        #expect(await seen[3].wait(5) == ["ticks/- 10", "ticks/a 0", "ticks/a 1", "ticks/- 0", "ticks/- 1"])
        try Self.post(test.center, "ticks", 11, object: "b")
        _ = await seen[3].wait(6)
        // Posted later than all of those to the same dispatcher, so nothing else is on its way.
        #expect(seen[..<3].allSatisfy { $0.all == ["ticks/- 10"] })
        test.center.isSuspended = false
        try Self.post(test.center, "ticks", 12)
        #expect(await seen[0].wait(2) == ["ticks/- 10", "ticks/- 12"])
        #expect(await seen[1].wait(5) == ["ticks/- 10", "ticks/a 1", "ticks/- 1", "ticks/b 11", "ticks/- 12"])
        #expect(
            await seen[2].wait(7) == [
                "ticks/- 10", "ticks/a 0", "ticks/a 1", "ticks/- 0", "ticks/- 1", "ticks/b 11", "ticks/- 12",
            ])
        #expect(await seen[3].wait(7).last == "ticks/- 12")
        for each in seen { each.token.cancel() }
    }

    @Test func urgentPostsComeWithWhatWasHeldBefore() async throws {
        let test = try TestCenter()
        let poster = try test.other()
        let seen = try Self.behaviors.map { try Seen(test.center, $0) }
        test.center.isSuspended = true
        try Self.post(poster, "a", 1)
        try Self.post(poster, "a", 2)
        try Self.post(poster, "a", 3, immediately: true)
        #expect(await seen[0].wait(1) == ["a/- 3"])
        #expect(await seen[1].wait(2) == ["a/- 2", "a/- 3"])
        #expect(await seen[2].wait(3) == ["a/- 1", "a/- 2", "a/- 3"])
        // It is suspended still.
        try Self.post(poster, "a", 4)
        #expect(await seen[3].wait(4) == ["a/- 1", "a/- 2", "a/- 3", "a/- 4"])
        #expect(seen[2].all.count == 3)
        test.center.isSuspended = false
        #expect(await seen[2].wait(4).last == "a/- 4")
        #expect(await seen[1].wait(3).last == "a/- 4")
        for each in seen { each.token.cancel() }
    }

    @Test func whatFallsOutIsCounted() async throws {
        let test = try TestCenter()
        let held = try Seen(test.center, .hold(limit: 3))
        let coalesced = try Seen(test.center, .coalesce(limit: 2))
        let marker = try Seen(test.center, .deliverImmediately)
        test.center.isSuspended = true
        for number in 0..<10 { try Self.post(test.center, "a", number) }
        for number in 0..<5 { try Self.post(test.center, "b", number, object: "\(number)") }
        _ = await marker.wait(15)
        test.center.isSuspended = false
        #expect(await held.wait(4) == ["missed 12 -", "b/2 2", "b/3 3", "b/4 4"])
        #expect(await coalesced.wait(3) == ["missed 4 -", "b/3 3", "b/4 4"])
        // It is as empty as before.
        test.center.isSuspended = true
        for number in 20..<25 { try Self.post(test.center, "a", number) }
        _ = await marker.wait(20)
        test.center.isSuspended = false
        #expect(await held.wait(8).dropFirst(4) == ["missed 2 a", "a/- 22", "a/- 23", "a/- 24"])
        #expect(await coalesced.wait(4).dropFirst(3) == ["a/- 24"])
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
        #expect(await held.wait(1) == ["a/- 1"])
        // One too many.
        center.resume()
        center.suspend()
        #expect(center.isSuspended)
        center.resume()
        try Self.post(center, "a", 2)
        #expect(await held.wait(2) == ["a/- 1", "a/- 2"])
        for each in [held, marker] { each.token.cancel() }
    }

    @Test func onlyThisCenterObjectIsSuspended() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let elsewhere = try Seen(other, .hold)
        let typed = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { typed.add($0.number) }
        test.center.isSuspended = true
        // Added while suspended.
        let held = try Seen(test.center, .hold)
        try test.center.post(Track(1))
        await typed.wait(for: 1)
        _ = await elsewhere.wait(1)
        #expect(held.all.isEmpty)
        test.center.isSuspended = false
        #expect(await held.wait(1) == ["test.track/- 1"])
        for each in [held, elsewhere] { each.token.cancel() }
        token.cancel()
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

    /// Suspended and resumed all the time, while another process posts: everything once, in order, one at a time.
    @Test(arguments: [false, true])
    func orderHoldsThroughout(onQueue: Bool) async throws {
        let test = try TestCenter()
        let count = 2000
        let (got, overlaps) = (Events<Int>(), Events<Void>())
        let isInside = Locked(false)
        let token = try test.center.addObserver(
            forName: "ticks", object: nil, suspensionBehavior: .hold(limit: count),
            queue: onQueue ? DispatchQueue(label: "test", attributes: .concurrent) : nil
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

    @Test func manyNamesCoalesceWithinBounds() {
        func item(_ name: String, _ sequence: UInt64) -> Item {
            let facts = Center.Envelope(
                sequence: sequence, postedAtNanoseconds: 0, poster: .init(pid: 1, uid: 1, executable: nil),
                subject: nil,
                isRetained: false, isOwn: false)
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
            Issue.record("not told")
            return
        }
        var sequences: [UInt64] = []
        var missed = 0
        while let item = buffer.pop() {
            switch item {
            case .arrival(let arrival): sequences.append(arrival.envelope.sequence)
            case .missed(let count, _): missed += count
            }
        }
        #expect(sequences == Array(99_951..<100_000) + Array(200_000..<200_050))
        #expect(missed == 3)
    }
}
