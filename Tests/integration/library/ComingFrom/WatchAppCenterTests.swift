import Testing

@testable import Tidings

/// For programs that come from `KKWatchAppNotificationCenter`.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct WatchAppCenterTests {
    static let play = Center.Key<Int>("watch.play")

    final class Player: Sendable {
        let heard: Events<String>
        init(_ heard: Events<String>) { self.heard = heard }
        func play(_ number: Int) { heard.add("play \(number)") }
        func stop(_ stop: Stop) { heard.add("stop") }
    }
    struct Stop: Center.Message { static let name: Center.Name = "watch.stop" }

    /// Posts a key's argument in another process, as JSON, and returns when the post has returned.
    private func postInAnotherProcess(_ test: TestCenter, _ number: Int) async throws {
        let peer = try Peer(test, "post-json", "watch.play", "[\(number)]")
        await peer.waitForEnd()
    }

    @Test func anOwnerIsAddedOnceAndRemovedFromEverything() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<String>()
        let player = Player(heard)
        for _ in 0..<2 {
            _ = try center.addObserver(for: Self.play, options: .init(owner: player)) { [weak player] in
                player?.play($0)
            }
        }
        _ = try center.addObserver(for: Stop.self, options: .init(owner: player)) { [weak player] in player?.stop($0) }
        try await postInAnotherProcess(test, 1)
        try center.post(Self.play, 2)
        try center.post(Stop())
        let played = await heard.wait(for: 3)
        #expect(played == ["play 1", "play 2", "stop"])
        center.removeObservers(of: player)
        let witness = Events<Int>()
        let token = try center.addObserver(for: Self.play) { witness.add($0) }
        try center.post(Stop())
        try await postInAnotherProcess(test, 3)
        await witness.wait(for: 1)
        #expect(heard.count == 3)
        _ = token
    }

    /// One center for all programs of a user, and one object for the whole program.
    @Test func theSharedCenterIsOneForAllProcesses() async throws {
        let test = try TestCenter()
        let shared = try Center(named: "default", configuration: .init(directory: test.directory))
        let (heard, elsewhere) = (Events<String>(), Events<String>())
        let player = Player(heard)
        _ = try shared.addObserver(for: Self.play, options: .init(owner: player)) { [weak player] in player?.play($0) }
        let token = try test.center.addObserver(forNames: .all) { elsewhere.add("\($0.name)") }
        let peers = try (0..<2).map { _ in try Peer(test, "default", "observe", "watch.play", "2") }
        for peer in peers { expectEqual(await peer.lines.wait(for: 2), ["default", "observing"]) }
        let poster = try Peer(test, "default", "post-json", "watch.play", "[1]", "post-json", "watch.play", "[2]")
        expectEqual(await poster.lines.wait(for: 3), ["default", "posted", "posted"])
        for peer in peers {
            let lines = await peer.lines.wait(for: 4).suffix(2)
            #expect(lines.map { $0.split(separator: " ").last } == ["\(poster.pid)", "\(poster.pid)"])
        }
        expectEqual(await heard.wait(for: 2), ["play 1", "play 2"])
        // A center of another name in the same directory is another center. What had been posted there before would
        // arrive before "end".
        try test.center.post(name: "end")
        expectEqual(await elsewhere.wait(for: 1), ["end"])
        shared.removeObservers(of: player)
        token.cancel()
    }

    /// All forms of an empty payload.
    @Test func postsWithoutAPayload() async throws {
        struct Empty: Center.Message { static let name: Center.Name = "test.empty" }
        let nothing: Center.Key<> = .init("test.nothing")
        let test = try TestCenter()
        let center = test.center
        let (empty, none, untyped) = (Events<String>(), Events<String>(), Events<String>())
        let tokens = [
            try center.addObserver(
                for: Empty.self, options: .init(onUndecodable: { _, _ in empty.add("undecodable") }),
                using: { _ in empty.add("got") }),
            try center.addObserver(
                for: nothing, options: .init(onUndecodable: { _, _ in none.add("undecodable") }),
                using: { none.add("got") }),
            try center.addObserver(forNames: .all) { notification in
                untyped.add("\(notification.name) \(notification.payload.bytes.count)")
            },
        ]
        let peer = try Peer(test, "observe-empty", "4", "empty")
        expectEqual(await peer.line(), "observing")
        try center.post(Empty())
        try center.post(nothing)
        try center.post(name: "test.empty")
        try center.post(name: "test.nothing")
        expectEqual(await peer.lines.wait(for: 6), ["observing", "empty", "nothing", "empty", "nothing", "posted 4"])
        expectEqual(await empty.wait(for: 4), ["got", "got", "got", "got"])
        expectEqual(await none.wait(for: 4), ["got", "got", "got", "got"])
        // A map without fields, an array without elements, and an empty payload.
        expectEqual(
            await untyped.wait(for: 8).suffix(4),
            [
                "test.empty 1", "test.empty 0", "test.nothing 1", "test.nothing 0",
            ])
        for token in tokens { token.cancel() }
    }

    /// In KKWatchAppNotificationCenter, a name is dead after the removal of its last observer.
    @Test func aNameLivesOnAfterItsLastObserver() async throws {
        let test = try TestCenter()
        for round in 1...20 {
            let heard = Events<String>()
            let player = Player(heard)
            _ = try test.center.addObserver(for: Self.play, options: .init(owner: player)) { [weak player] in
                player?.play($0)
            }
            try await postInAnotherProcess(test, round)
            expectEqual(await heard.wait(for: 1), ["play \(round)"])
            test.center.removeObservers(of: player)
            #expect(try test.center.statistics.observers == 0)
        }
    }

    /// KKWatchAppNotificationCenter keeps it alive for ever.
    @Test func aReleasedOwnersObservationsEnd() async throws {
        let test = try TestCenter()
        let heard = Events<String>()
        weak var player: Player?
        do {
            let strong = Player(heard)
            player = strong
            _ = try test.center.addObserver(for: Self.play, options: .init(owner: strong)) { [weak strong] in
                strong?.play($0)
            }
        }
        #expect(player == nil)
        let witness = Events<Int>()
        let token = try test.center.addObserver(for: Self.play) { witness.add($0) }
        try await postInAnotherProcess(test, 1)
        await witness.wait(for: 1)
        #expect(heard.count == 0)
        _ = token
    }

    /// In KKWatchAppNotificationCenter, a handler that adds or removes observers changes the array during its
    /// iteration.
    @Test func aHandlerAddsAndRemoves() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<String>()
        let tokens = Locked<[Center.ObservationToken]>([])
        for number in 0..<10 {
            let token = try center.addObserver(for: Self.play) { played in
                heard.add("\(number) \(played)")
                guard played == 1 else { return }
                // Removes this observer and its neighbour, and adds a new one.
                let neighbour = (number + 1) % 10
                let gone = tokens.withLock { [$0[number], $0[neighbour]] }
                for token in gone { token.cancel() }
                heard.add("\(neighbour) is gone")
                if let added = try? center.addObserver(for: Self.play, using: { heard.add("new \($0)") }) {
                    tokens.withLock { $0.append(added) }
                }
            }
            tokens.withLock { $0.append(token) }
        }
        let last = Events<Int>()
        let witness = try center.addObserver(for: Self.play) { last.add($0) }
        try await postInAnotherProcess(test, 1)
        // Now each of the ten was called, or will not be called any more. A closure that was called may not have
        // returned yet.
        await last.wait(for: 1)
        for token in tokens.withLock({ Array($0[..<10]) }) { await token.cancelAndWait() }
        let first = heard.all
        let called = first.filter { $0.hasSuffix(" 1") }
        // Each called closure removes the next one, so every second one is called. If a closure seems to hang on a busy
        // machine, the others are called on another thread: then one more may be called.
        #expect(called.count >= 5, "\(first)")
        #expect(Set(called).count == called.count, "\(first)")
        for number in 0..<10 {
            let calls = first.firstIndex(of: "\(number) 1")
            let isGone = first.firstIndex(of: "\(number) is gone")
            #expect(calls != nil || isGone != nil, "\(number) of \(first)")
            if let calls, let isGone { #expect(calls < isGone, "\(number) of \(first)") }
        }
        try await postInAnotherProcess(test, 2)
        try await postInAnotherProcess(test, 3)
        let after = await heard.wait(for: first.count + 2 * called.count)[first.count...].sorted()
        expectEqual(after, called.map { _ in "new 2" } + called.map { _ in "new 3" })
        for token in tokens.withLock({ $0 }) + [witness] { token.cancel() }
    }

    @Test func manyThreadsAtOnce() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<Int>()
        let witness = try center.addObserver(for: Self.play) { heard.add($0) }
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    await onThread {
                        for number in 0..<100 {
                            let player = Player(Events())
                            _ = try? center.addObserver(for: Self.play, options: .init(owner: player)) {
                                [weak player] in player?.play($0)
                            }
                            _ = try? center.post(Self.play, thread * 100 + number)
                            center.removeObservers(of: player)
                        }
                    }
                }
            }
        }
        try await postInAnotherProcess(test, -1)
        expectEqual(await heard.wait(for: 801).sorted(), Array(-1..<800))
        _ = witness
    }
}
