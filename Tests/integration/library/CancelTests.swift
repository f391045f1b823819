import Dispatch
import Glibc
import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct CancelTests {
    /// The kinds of closures for which `cancel()` waits on any thread.
    enum Kind: CaseIterable {
        case plain, queue, mainActor, globalActor, task
    }

    private func observe(
        _ center: Center, _ kind: Kind, _ handler: @escaping @Sendable (Track) -> Void
    ) throws -> Center.ObservationToken {
        switch kind {
        case .plain: try center.addObserver(for: Track.self) { handler($0) }
        case .queue:
            try center.addObserver(for: Track.self, options: .init(queue: DispatchQueue(label: "test"))) { handler($0) }
        case .mainActor: try center.addObserver(for: Track.self) { @MainActor in handler($0) }
        case .globalActor: try center.addObserver(for: Track.self) { @TestActor in handler($0) }
        case .task:
            try center.addObserver(for: Track.self) { track in
                await Task.yield()
                handler(track)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func cancelWaitsForTheClosureToReturn(_ kind: Kind) async throws {
        let test = try TestCenter()
        let events = Events<String>()
        let gate = Gate()
        let token = try observe(test.center, kind) { track in
            events.add("begin \(track.number)")
            gate.pass()
            events.add("end")
        }
        for number in 0..<10 { try test.center.post(Track(number)) }
        await events.wait(for: 1)
        async let cancelled: Void = onThread {
            token.cancel()
            events.add("cancelled")
        }
        // This holds from the beginning of `cancel()`.
        while !token.isCancelled { await Task.yield() }
        gate.open()
        await cancelled
        #expect(events.all == ["begin 0", "end", "cancelled"])
        // Nothing more arrives: a notification posted now reaches an observer that was registered later.
        let later = Events<Int>()
        let other = try test.center.addObserver(for: Track.self) { later.add($0.number) }
        try test.center.post(Track(10))
        await later.wait(for: 1)
        #expect(events.count == 3)
        other.cancel()
    }

    @Test(arguments: Kind.allCases)
    func cancelInsideTheClosureReturnsAtOnce(_ kind: Kind) async throws {
        let test = try TestCenter()
        let events = Events<String>()
        let token = Locked<Center.ObservationToken?>(nil)
        let isSet = Gate()
        let made = try observe(test.center, kind) { track in
            isSet.pass()
            token.withLock { $0 }?.cancel()
            events.add("cancelled in \(track.number)")
        }
        token.withLock { $0 = made }
        isSet.open()
        for number in 0..<10 { try test.center.post(Track(number)) }
        await events.wait(for: 1)
        await made.cancelAndWait()
        #expect(events.all == ["cancelled in 0"])
        token.withLock { $0 = nil }
    }

    @Test(arguments: Kind.allCases)
    func cancelReleasesTheClosuresCaptures(_ kind: Kind) async throws {
        final class Held: Sendable {}
        let test = try TestCenter()
        var held: Held? = Held()
        weak let weakly = held
        let events = Events<Int>()
        let token = try observe(test.center, kind) { [held] track in
            withExtendedLifetime(held) { events.add(track.number) }
        }
        held = nil
        try test.center.post(Track(1))
        await events.wait(for: 1)
        #expect(weakly != nil)
        await onThread { token.cancel() }
        #expect(weakly == nil)
    }

    /// Each closure would wait for the other closure to return.
    @Test(arguments: [false, true])
    func closuresThatCancelEachOther(isAsynchronous: Bool) async throws {
        let test = try TestCenter()
        let tokens = Locked<[SharedNotificationCenter.ObservationToken]>([])
        let (begun, ended) = (Events<Int>(), Events<Int>())
        @Sendable func cancel(_ number: Int) {
            begun.add(number)
            begun.block(for: 3)
            tokens.withLock { $0[(number + 1) % 3] }.cancel()
            ended.add(number)
        }
        // In a circle: the first waits for the second, which waits for the third.
        for number in 0..<3 {
            let queue = DispatchQueue(label: "\(number)")
            let token =
                if number == 2, isAsynchronous {
                    try test.center.addObserver(for: Track.self) { _ async in cancel(2) }
                } else {
                    try test.center.addObserver(for: Track.self, options: .init(queue: queue)) { _ in cancel(number) }
                }
            tokens.withLock { $0.append(token) }
        }
        try test.center.post(Track(0))
        expectEqual(await ended.wait(for: 3).sorted(), [0, 1, 2])
        // The cycle detection keeps no entry that a later call could find.
        for token in tokens.withLock({ $0 }) { token.cancel() }
    }

    /// One of the closures waits without blocking its thread.
    @Test(arguments: [false, true])
    func closuresThatWaitForEachOther(isAsynchronous: Bool) async throws {
        let test = try TestCenter()
        let tokens = Locked<[Center.ObservationToken]>([])
        let (begun, ended) = (Events<Int>(), Events<Int>())
        @Sendable func wait(_ number: Int) async {
            begun.add(number)
            await begun.wait(for: 2)
            await tokens.withLock { $0[1 - number] }.cancelAndWait()
            ended.add(number)
        }
        let first = try test.center.addObserver(for: Track.self) { _ async in await wait(0) }
        let second =
            if isAsynchronous {
                try test.center.addObserver(for: Track.self) { _ async in await wait(1) }
            } else {
                try test.center.addObserver(for: Track.self, options: .init(queue: DispatchQueue(label: "1"))) { _ in
                    begun.add(1)
                    begun.block(for: 2)
                    tokens.withLock { $0[0] }.cancel()
                    ended.add(1)
                }
            }
        tokens.withLock { $0 = [first, second] }
        try test.center.post(Track(0))
        expectEqual(await ended.wait(for: 2).sorted(), [0, 1])
        for token in tokens.withLock({ $0 }) { token.cancel() }
    }

    /// `onMissed` of an asynchronous closure runs in the closure's task, and counts as part of the closure.
    @Test func aHandlerOfLossesAndAClosureThatCancelEachOther() async throws {
        let test = try TestCenter()
        let tokens = Locked<[Center.ObservationToken]>([])
        let (begun, opened, missed, ended) = (Events<Void>(), Events<Void>(), Events<Void>(), Events<Int>())
        let numbers = Events<Int32>()
        let first = try test.center.addObserver(
            for: Track.self,
            options: .init(onMissed: { _, _ in
                missed.add(())
                numbers.block(for: 1)
                let (own, other) = tokens.withLock { ($0[0], $0[1]) }
                while !own.isCancelled { usleep(1000) }
                // The thread sleeps, most likely in `cancel()`.
                while ThreadTime.look(at: numbers.all[0])?.isReady == true { usleep(1000) }
                other.cancel()
                ended.add(0)
            }),
            using: { (track: Track) async in
                begun.add(())
                await opened.wait(for: 1)
            })
        let second = try test.center.addObserver(
            forNames: ["second"], options: .init(queue: DispatchQueue(label: "second"))
        ) { _ in
            numbers.add(WorkerThread.currentNumber ?? 0)
            tokens.withLock { $0[0] }.cancel()
            ended.add(1)
        }
        tokens.withLock { $0 = [first, second] }
        try test.center.post(Track(0))
        await begun.wait(for: 1)
        // One more than the closure's queue holds, and always fewer at a time than the ring holds: so the next event is
        // the loss.
        let routed = Events<Void>()
        let witness = try test.center.addObserver(forNames: ["witness"]) { _ in routed.add(()) }
        for number in 1...DeliveryBuffer.Bounds.closure.items + 1 {
            try test.center.post(Track(number))
            if number % 1000 == 0 || number > DeliveryBuffer.Bounds.closure.items {
                try test.center.post(name: "witness", payload: .empty)
                await routed.wait(for: (number + 999) / 1000)
            }
        }
        opened.add(())
        // Before the report, the other closure could cancel the first one, and no loss would be reported.
        await missed.wait(for: 1)
        try test.center.post(name: "second", payload: .empty)
        expectEqual(await ended.wait(for: 2).sorted(), [0, 1])
        for token in [first, second, witness] { token.cancel() }
        // An observer keeps its `onMissed`, which holds the tokens.
        tokens.withLock { $0 = [] }
    }

    /// When a closure has returned, a task that it started is no longer inside the closure.
    @Test func aTaskOfAnEarlierRunWaitsForTheNext() async throws {
        let test = try TestCenter()
        let events = Events<String>()
        let tokens = Locked<[Center.ObservationToken]>([])
        let token = try test.center.addObserver(for: Track.self) { (track: Track) async in
            events.add("begin \(track.number)")
            if track.number == 0 {
                Task {
                    await events.wait(for: 3)
                    await tokens.withLock { $0[0] }.cancelAndWait()
                    events.add("canceled")
                }
            } else if let observation = tokens.withLock({ $0[0] }).anchor?.observation {
                // Waits until the task waits or has returned.
                while observation.dispatcher.lock.withLock({ observation.ending.isEmpty }), events.count < 4 {
                    await Task.yield()
                }
            }
            events.add("end \(track.number)")
        }
        tokens.withLock { $0 = [token] }
        try test.center.post(Track(0))
        try test.center.post(Track(1))
        expectEqual(await events.wait(for: 5), ["begin 0", "end 0", "begin 1", "end 1", "canceled"])
    }

    /// A task of the first run still waits for another closure. That closure waits for the second run nevertheless.
    @Test func aClosureWaitsForARunThoughATaskOfTheRunBeforeWaitsForIt() async throws {
        struct Bee: Center.Message {
            static let name: Center.Name = "bee"
            var number: Int
        }
        @Sendable func isAwaited(_ token: Center.ObservationToken) -> Bool {
            guard let observation = token.anchor?.observation else { return false }
            return observation.dispatcher.lock.withLock { !observation.ending.isEmpty }
        }
        let test = try TestCenter()
        let tokens = Locked<[Center.ObservationToken]>([])
        let (begun, waits, ended) = (Events<Void>(), Events<Void>(), Events<String>())
        let track = try test.center.addObserver(for: Track.self) { (track: Track) async in
            if track.number == 0 {
                await begun.wait(for: 1)
                let bee = tokens.withLock { $0[1] }
                Task { await bee.cancelAndWait() }
                while !isAwaited(bee) { await Task.yield() }
            } else {
                waits.add(())
                // Waits until the other closure waits or has returned.
                while !isAwaited(tokens.withLock { $0[0] }), ended.count == 0 { await Task.yield() }
                ended.add("track")
            }
        }
        let bee = try test.center.addObserver(for: Bee.self) { (_: Bee) async in
            begun.add(())
            await waits.wait(for: 1)
            await tokens.withLock { $0[0] }.cancelAndWait()
            ended.add("bee")
        }
        tokens.withLock { $0 = [track, bee] }
        try test.center.post(Bee(number: 0))
        try test.center.post(Track(0))
        try test.center.post(Track(1))
        expectEqual(await ended.wait(for: 2), ["track", "bee"])
        for token in [track, bee] { token.cancel() }
    }

    @Test func cancelOfAnotherObserverInsideAClosure() async throws {
        let test = try TestCenter()
        let events = Events<String>()
        let second = Locked<Center.ObservationToken?>(nil)
        let first = try test.center.addObserver(for: Track.self) { track in
            events.add("first \(track.number)")
            second.withLock { $0 }?.cancel()
            events.add("canceled")
        }
        let other = try test.center.addObserver(for: Track.self) { events.add("second \($0.number)") }
        second.withLock { $0 = other }
        try test.center.post(Track(0))
        try test.center.post(Track(1))
        // The first closure began first, so it is served first. On a busy machine it may seem to hang: then the second
        // closure is called on another thread until it is cancelled.
        let all = await events.wait(for: 4)
        #expect(!all.drop { $0 != "canceled" }.contains { $0.hasPrefix("second") }, "\(all)")
        expectEqual(all.first, "first 0")
        first.cancel()
        second.withLock { $0 = nil }
    }

    @Test func cancelAndWaitWaitsForAnAsynchronousClosure() async throws {
        let test = try TestCenter()
        let events = Events<String>()
        let token = try test.center.addObserver(for: Track.self) { _ in
            events.add("begin")
            // Ends by cancellation.
            while !Task.isCancelled { await Task.yield() }
            events.add("end")
        }
        try test.center.post(Track(0))
        try test.center.post(Track(1))
        await events.wait(for: 1)
        await token.cancelAndWait()
        events.add("cancelled")
        #expect(events.all == ["begin", "end", "cancelled"])
    }

    /// A common deadlock: an actor cancels while the closure waits for that actor.
    @Test func cancelOnTheActorThatTheClosureNeedsDoesNotDeadlock() async throws {
        actor Player {
            var token: Center.ObservationToken?
            let events = Events<String>()

            func start(_ center: Center) throws {
                token = try center.addObserver(for: Track.self) { [weak self] track in
                    self?.events.add("began")
                    await self?.play(track)
                    self?.events.add("returned")
                }
            }
            func play(_ track: Track) { events.add("played") }
            func stopWhileBegun() {
                // Runs on the actor while the closure has begun, and does not suspend.
                events.block(for: 1)
                token?.cancel()
                token = nil
            }
        }
        let test = try TestCenter()
        let player = Player()
        try await player.start(test.center)
        async let stopped: Void = player.stopWhileBegun()
        try test.center.post(Track(0))
        await stopped
        await player.events.wait(for: 3)
    }

    @Test func cancelIsIdempotentAndFromManyThreads() async throws {
        let test = try TestCenter()
        let events = Events<Int>()
        let gate = Gate()
        let token = try test.center.addObserver(for: Track.self) { track in
            events.add(track.number)
            gate.pass()
        }
        try test.center.post(Track(0))
        await events.wait(for: 1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { await onThread { token.cancel() } } }
            gate.open()
        }
        token.cancel()
        test.center.removeObserver(token)
        await token.cancelAndWait()
        #expect(events.all == [0])
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func addingAndCancellingWhilePostsGoOn() async throws {
        let test = try TestCenter()
        let center = test.center
        let isOver = Locked(false)
        let poster = Task.detached {
            var number = 0
            while !isOver.withLock({ $0 }) {
                try center.post(Track(number))
                number += 1
            }
        }
        for round in 0..<(isSanitized ? 30 : 300) {
            // Received numbers are positive, missed counts are negative: the poster is not held back.
            let events = Events<Int>()
            let token =
                round % 2 == 0
                ? try center.addObserver(
                    for: Track.self, options: .init(onMissed: { count, _ in events.add(-count) }),
                    using: { events.add($0.number) })
                : try center.addObserver(
                    for: Track.self, options: .init(queue: .global(), onMissed: { count, _ in events.add(-count) }),
                    using: { events.add($0.number) })
            await events.wait(for: 3)
            await onThread { token.cancel() }
            var expected: Int?
            var isExact = true
            for event in events.all {
                if event < 0 {
                    expected? -= event
                } else {
                    isExact = isExact && (expected ?? event) == event
                    expected = event + 1
                }
            }
            #expect(isExact)
        }
        isOver.withLock { $0 = true }
        try await poster.value
        #expect(try center.statistics.observers == 0)
    }
}
