import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

/// The start, the posters and the losslessness of observers of one name, of all names, and by prefix.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct UntypedOptionsTests {
    /// The function that is called.
    enum Names: CaseIterable, Sendable {
        case one, all, prefix
    }

    /// Observes "test.a", or names that include it. Records "NAME/OBJECT NUMBER" or "missed COUNT".
    private static func observe(
        _ center: Center, _ names: Names, object: String? = nil, behavior: Center.SuspensionBehavior = .coalesce,
        from start: Center.Start = .now, excludingOwnPosts: Bool = false, lossless: Bool = false, gate: Gate? = nil
    ) throws -> (Events<String>, Center.ObservationToken) {
        let events = Events<String>()
        let missed: @Sendable (Int, Center.Name?) -> Void = { count, _ in events.add("missed \(count)") }
        let handler: @Sendable (Center.Notification) -> Void = { notification in
            gate?.pass()
            let number = notification.userInfo?["number"]?.integer ?? -1
            events.add("\(notification.name)/\(notification.object ?? "-") \(number)")
        }
        let token =
            switch names {
            case .one, .all:
                try center.addObserver(
                    forNames: names == .one ? "test.a" : .all,
                    options: .init(
                        subject: object, from: start, excludingOwnPosts: excludingOwnPosts, lossless: lossless,
                        onMissed: missed), suspensionBehavior: behavior, using: handler)
            case .prefix:
                try center.addObserver(
                    forNames: .prefix("test."),
                    options: .init(
                        subject: object, from: start, excludingOwnPosts: excludingOwnPosts, lossless: lossless,
                        onMissed: missed), suspensionBehavior: behavior, using: handler)
            }
        return (events, token)
    }

    private static func post(
        _ center: Center, _ number: Int, object: String? = nil, immediately: Bool = false
    ) throws {
        try center.post(
            name: "test.a", userInfo: ["number": .integer(number)],
            options: .init(subject: object, deliverImmediately: immediately))
    }

    @Test(arguments: Names.allCases)
    func earlierPostsOfAnotherProcess(_ names: Names) async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "post-subject", "test.a", "x", "2", "post", "test.a", "3", "post", "other", "1")
        await peer.waitForEnd()
        var envelopes: [Center.Envelope] = []
        var history = test.center.deliveries(ofNames: ["test.a"], options: .init(from: .oldest)).makeAsyncIterator()
        while envelopes.count < 4, case .notification(let notification)? = await history.next() {
            envelopes.append(notification.envelope)
        }
        let (now, nowToken) = try Self.observe(test.center, names)
        let (oldest, oldestToken) = try Self.observe(test.center, names, from: .oldest)
        let (object, objectToken) = try Self.observe(test.center, names, object: "x", from: .oldest)
        let (late, lateToken) = try Self.observe(test.center, names, from: .after(try #require(envelopes.last)))
        try Self.post(test.center, 9, object: "x")
        let other = names == .all ? ["other/- 0"] : []
        let expected = ["test.a/x 0", "test.a/x 1", "test.a/- 0", "test.a/- 1", "test.a/- 2"] + other + ["test.a/x 9"]
        expectEqual(await oldest.wait(for: expected.count), expected)
        expectEqual(await now.wait(for: 1), ["test.a/x 9"])
        expectEqual(await object.wait(for: 3), ["test.a/x 0", "test.a/x 1", "test.a/x 9"])
        expectEqual(await late.wait(for: 2 + other.count), ["test.a/- 2"] + other + ["test.a/x 9"])
        for token in [nowToken, oldestToken, objectToken, lateToken] { token.cancel() }
    }

    @Test(arguments: Names.allCases)
    func ownPostsAreExcludedAndPostsOfOtherProcessesArrive(_ names: Names) async throws {
        let test = try TestCenter()
        let (foreign, foreignToken) = try Self.observe(test.center, names, excludingOwnPosts: true)
        let (all, allToken) = try Self.observe(test.center, names)
        try Self.post(test.center, 7)
        let peer = try Peer(test, "post", "test.a", "2", "wait", "post", "test.a", "1")
        expectEqual(await peer.line(), "posted 2")
        try Self.post(test.center, 8)
        peer.send()
        await peer.waitForEnd()
        expectEqual(await foreign.wait(for: 3), ["test.a/- 0", "test.a/- 1", "test.a/- 0"])
        expectEqual(
            await all.wait(for: 5), ["test.a/- 7", "test.a/- 0", "test.a/- 1", "test.a/- 8", "test.a/- 0"])
        // Also for notifications that wait in the ring.
        let (before, beforeToken) = try Self.observe(test.center, names, from: .oldest, excludingOwnPosts: true)
        expectEqual(await before.wait(for: 3), ["test.a/- 0", "test.a/- 1", "test.a/- 0"])
        for token in [foreignToken, allToken, beforeToken] { token.cancel() }
    }

    /// A closure blocks while another process posts many times the ring's number of slots.
    @Test(arguments: Names.allCases)
    func anotherProcessIsHeldBackBeforeItLapsTheObserver(_ names: Names) async throws {
        let test = try TestCenter(smallRing)
        let gate = Gate()
        let (events, token) = try Self.observe(test.center, names, lossless: true, gate: gate)
        let peer = try Peer(test, "post", "test.a", "3000")
        let own = try await Self.postsUntilFull(test)
        #expect(try test.center.statistics.observersLossless == 1)
        #expect(peer.lines.count == 0 && events.count == 0)
        gate.open()
        await peer.waitForEnd()
        expectEqual(Self.numbers(await events.wait(for: own + 3000)), Array(0..<3000))
        token.cancel()
    }

    /// During the suspension, no more notifications are held than the limit, and further posts wait.
    @Test(arguments: Names.allCases)
    func nothingIsDroppedDuringASuspension(_ names: Names) async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let (events, token) = try Self.observe(center, names, behavior: .hold(limit: 10), lossless: true)
        let (lossy, lossyToken) = try Self.observe(test.other(), names)
        center.isSuspended = true
        let peer = try Peer(test, "post", "test.a", "3000")
        let own = try await Self.postsUntilFull(test)
        #expect(events.count == 0 && peer.lines.count == 0)
        // Other observers go on.
        await lossy.wait(for: 1)
        center.isSuspended = false
        await peer.waitForEnd()
        expectEqual(Self.numbers(await events.wait(for: own + 3000)), Array(0..<3000))
        for token in [token, lossyToken] { token.cancel() }
    }

    /// More notifications were held than may wait for a lossless closure: all of them arrive, before the urgent one.
    @Test(arguments: [false, true])
    func allHeldNotificationsArrive(isUrgent: Bool) async throws {
        let test = try TestCenter()
        let center = test.center
        let (events, token) = try Self.observe(center, .one, behavior: .hold(limit: 2000), lossless: true)
        center.isSuspended = true
        let peer = try Peer(test, "post", "test.a", "1000")
        await peer.waitForEnd()
        try Self.post(center, 1000, immediately: isUrgent)
        if !isUrgent { center.isSuspended = false }
        expectEqual(Self.numbers(await events.wait(for: 1001)), Array(0...1000))
        // The observer goes on.
        center.isSuspended = false
        try Self.post(center, 1001)
        expectEqual(Self.numbers(await events.wait(for: 1002)), Array(0...1001))
        token.cancel()
    }

    @Test func cancelFreesPostersThatASuspendedOneHoldsBack() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let (events, token) = try Self.observe(center, .one, behavior: .hold(limit: 1), lossless: true)
        center.isSuspended = true
        let peer = try Peer(test, "post", "test.a", "3000")
        _ = try await Self.postsUntilFull(test)
        token.cancel()
        expectEqual(await peer.line(), "posted 3000")
        #expect(events.count == 0)
        #expect(try center.statistics.observersLossless == 0)
    }

    private func item(_ name: String, _ sequence: UInt64 = 0, size: Int = 1) -> Item {
        let facts = Center.Envelope(
            sequence: sequence, incarnation: 1, postedAtNanoseconds: 0, poster: .init(pid: 1, uid: 1, executable: nil),
            subject: nil,
            isRetained: false, isOwn: false, isCleared: false)
        let bytes = Array(repeating: 0 as UInt8, count: size)
        return .arrival(Arrival(name: .init(name), format: 0, bytes: .owned(bytes), origin: .envelope(facts)))
    }

    /// More notifications were held than the closure's queue has room for.
    @Test func resumingDropsNothing() {
        var machine = ObservationMachine(
            isInline: true, needsDrain: true, isLossless: true, bounds: .init(items: 4, bytes: 1 << 20),
            held: HeldItems(.hold(limit: 100)))
        machine.suspend()
        for sequence in 0..<100 as Range<UInt64> { #expect(machine.keep(item("a", sequence)) == .kept) }
        #expect(machine.keep(item("a")) == .wait)
        #expect(machine.resume() == .keptAndDrain)
        #expect(machine.keep(item("a")) == .wait)
        var sequences: [UInt64] = []
        while case .arrival(let arrival)? = machine.take(for: .task) { sequences.append(arrival.envelope.sequence) }
        #expect(sequences == Array(0..<100))
    }

    @Test func coalescedNotificationsMakeRoom() {
        var coalesced = HeldItems(.coalesce(limit: 2))
        for name in ["a", "b", "a"] { coalesced.push(item(name)) }
        #expect(coalesced.hasRoom(for: item("a")) && coalesced.hasRoom(for: item("b")))
        #expect(!coalesced.hasRoom(for: item("c")) && !coalesced.hasRoom(for: .missed(1, nil)))
        var held = HeldItems(.hold(limit: 3))
        for name in ["a", "a"] { held.push(item(name, size: 30 << 20)) }
        #expect(held.hasRoom(for: item("a", size: 4 << 20)) && !held.hasRoom(for: item("a", size: (4 << 20) + 1)))
        held.push(item("a"))
        #expect(!held.hasRoom(for: item("a")))
        #expect(HeldItems(.drop).hasRoom(for: item("a")))
        #expect(HeldItems(.hold(limit: 1)).hasRoom(for: item("a", size: 65 << 20)))
    }

    @Test(arguments: [Names.one, .prefix])
    func aLosslessObserverNeedsWriteAccess(_ names: Names) async throws {
        let test = try TestCenter(.init(permissions: 0o644))
        let reader = try Center(named: test.name, configuration: .init(directory: test.directory, isReadOnly: true))
        let error = #expect(throws: SharedNotificationError.self) {
            try Self.observe(reader, names, lossless: true)
        }
        #expect(error?.code == .notPermitted)
    }

    /// The numbers of the received notifications, without the posts that test for room (-1). None may be missed.
    private static func numbers(_ events: [String]) -> [Int] {
        #expect(events.allSatisfy { !$0.hasPrefix("missed") }, "\(events.first { $0.hasPrefix("missed") } ?? "")")
        return events.compactMap { Int($0.split(separator: " ")[1]) }.filter { $0 >= 0 }
    }

    /// Posts until a post is refused because an observer holds posters back. Returns the number of accepted posts.
    private static func postsUntilFull(_ test: TestCenter) async throws -> Int {
        var count = 0
        while true {
            do throws(SharedNotificationError) {
                try test.center.post(name: "test.a")
            } catch {
                guard error.code == .full else { throw error }
                return count
            }
            count += 1
            await Task.yield()
        }
    }
}
