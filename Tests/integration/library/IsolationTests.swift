import Dispatch
import Testing
import TidingsAdministration

@testable import Tidings

/// A global actor other than the main actor.
@globalActor actor TestActor {
    static let shared = TestActor()
}

/// An actor that runs a closure.
actor ClosureActor {
    func run(_ body: @Sendable () -> Void) { body() }
}

/// Closures that are isolated to an actor, closures that call an actor, and executors.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct IsolationTests {
    struct Ticks: Center.Message {
        static let name: Center.Name = "ticks"
        var number: Int
    }

    static let progress = Center.Key<Int, String>("progress")

    private actor Counter {
        var numbers: [Int] = []
        var pids: Set<Int32> = []
        let got = Events<Int>()

        @discardableResult
        func follow(_ center: Center) throws -> Center.ObservationToken {
            try center.addObserver(for: Ticks.self, options: .init(owner: self)) { [weak self] tick in
                await self?.count(tick.number)
            }
        }

        func count(_ number: Int) {
            numbers.append(number)
            got.add(number)
        }

        func note(_ pid: Int32) { pids.insert(pid) }
    }

    @MainActor private final class Controller {
        let got = Events<String>()

        func tick(_ tick: Ticks) {
            MainActor.preconditionIsolated()
            got.add("tick \(tick.number)")
        }
        func tickWithEnvelope(_ tick: Ticks, _ envelope: Center.Envelope) {
            MainActor.preconditionIsolated()
            got.add("tick \(tick.number) of \(envelope.poster.pid)")
        }
        func progressed(_ number: Int, _ stage: String) {
            MainActor.preconditionIsolated()
            got.add("\(number) \(stage)")
        }
        func posted(_ notification: Center.Notification) {
            MainActor.preconditionIsolated()
            got.add(notification.name.rawValue)
        }
    }

    /// An actor that runs on a queue.
    private final class QueueExecutor: SerialExecutor, TaskExecutor {
        let queue = DispatchQueue(label: "test")
        static let key = DispatchSpecificKey<Bool>()

        init() { queue.setSpecific(key: Self.key, value: true) }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async {
                job.runSynchronously(
                    isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
            }
        }

        static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
    }

    private actor OnQueue {
        nonisolated let executor = QueueExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        var numbers: [Int] = []
        let got = Events<Bool>()

        func count(_ number: Int) {
            numbers.append(number)
            got.add(QueueExecutor.isCurrent)
        }
    }

    @Test func anActorGetsAnotherProcesssPostsInOrder() async throws {
        let test = try TestCenter()
        let counter = Counter()
        try await counter.follow(test.center)
        let peer = try Peer(test, "post", "ticks", "500")
        expectEqual(await counter.got.wait(for: 500), Array(0..<500))
        expectEqual(await counter.numbers, Array(0..<500))
        await peer.waitForEnd()
    }

    @Test func theEnvelopeIsGivenOnRequest() async throws {
        let test = try TestCenter()
        let counter = Counter()
        let got = Events<Int32>()
        let token = try test.center.addObserver(for: Ticks.self, options: .init(owner: counter)) {
            [weak counter] _, envelope in
            await counter?.note(envelope.poster.pid)
            got.add(envelope.poster.pid)
        }
        let peer = try Peer(test, "post", "ticks", "3")
        await got.wait(for: 3)
        expectEqual(await counter.pids, [peer.pid])
        token.cancel()
    }

    @Test func aKeysArgumentsComeToAnActor() async throws {
        let test = try TestCenter()
        let counter = Counter()
        let got = Events<String>()
        let token = try test.center.addObserver(for: Self.progress, options: .init(owner: counter)) {
            [weak counter] number, stage in
            await counter?.count(number)
            got.add("\(number) \(stage)")
        }
        let peer = try Peer(test, "key", "progress", "3")
        expectEqual(await got.wait(for: 3), ["0 stage", "1 stage", "2 stage"])
        expectEqual(await counter.numbers, [0, 1, 2])
        await peer.waitForEnd()
        token.cancel()
    }

    /// Also if the closure's task has another executor.
    @Test(arguments: [false, true])
    func anActorsOwnExecutorRunsIt(hasExecutor: Bool) async throws {
        let test = try TestCenter()
        let actor = OnQueue()
        let executor = hasExecutor ? ObserverExecutor() : nil
        let token = try test.center.addObserver(for: Ticks.self, options: .init(owner: actor, executor: executor)) {
            [weak actor] tick in
            await actor?.count(tick.number)
        }
        let peer = try Peer(test, "post", "ticks", "100")
        expect(await actor.got.wait(for: 100)) { all in all.allSatisfy { $0 } }
        expectEqual(await actor.numbers, Array(0..<100))
        await peer.waitForEnd()
        token.cancel()
    }

    @Test func anExecutorRunsAsynchronousClosures() async throws {
        let test = try TestCenter()
        let executor = QueueExecutor()
        let got = Events<(Int, Bool)>()
        let token = try test.center.addObserver(for: Ticks.self, options: .init(executor: executor)) { tick in
            await Task.yield()
            got.add((tick.number, QueueExecutor.isCurrent))
        }
        let peer = try Peer(test, "post", "ticks", "100")
        let all = await got.wait(for: 100)
        #expect(all.map(\.0) == Array(0..<100))
        #expect(all.allSatisfy { $0.1 })
        await peer.waitForEnd()
        await token.cancelAndWait()
    }

    /// The values that the four kinds of closures received.
    private struct Heard {
        let ticks = Events<Int>()
        let pids = Events<Int32>()
        let stages = Events<String>()
        let names = Events<Center.Name>()

        /// Another process posts for each kind.
        func expectAll(in test: TestCenter) async throws {
            let peer = try Peer(test, "post", "ticks", "100", "key", "progress", "2", "wait")
            expectEqual(await ticks.wait(for: 100), Array(0..<100))
            expect(await pids.wait(for: 100)) { all in all.allSatisfy { $0 == peer.pid } }
            expectEqual(await stages.wait(for: 2), ["0 stage", "1 stage"])
            let ticked = [Center.Name](repeating: "ticks", count: 100)
            expectEqual(await names.wait(for: 102), ticked + ["progress", "progress"])
        }
    }

    @Test func aMainActorClosureRunsOnTheMainActor() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Heard()
        let first = try center.addObserver(for: Ticks.self) { @MainActor tick in
            MainActor.preconditionIsolated()
            heard.ticks.add(tick.number)
        }
        let second = try center.addObserver(for: Ticks.self) { @MainActor _, envelope in
            MainActor.preconditionIsolated()
            heard.pids.add(envelope.poster.pid)
        }
        let third = try center.addObserver(for: Self.progress) { @MainActor number, stage in
            MainActor.preconditionIsolated()
            heard.stages.add("\(number) \(stage)")
        }
        let fourth = try center.addObserver(forNames: ["ticks", "progress"]) { @MainActor notification in
            MainActor.preconditionIsolated()
            heard.names.add(notification.name)
        }
        try await heard.expectAll(in: test)
        for token in [first, second, third, fourth] { await token.cancelAndWait() }
    }

    @Test func aClosureOfAnotherGlobalActorRunsOnThatActor() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Heard()
        let first = try center.addObserver(for: Ticks.self) { @TestActor tick in
            TestActor.preconditionIsolated()
            heard.ticks.add(tick.number)
        }
        let second = try center.addObserver(for: Ticks.self) { @TestActor _, envelope in
            TestActor.preconditionIsolated()
            heard.pids.add(envelope.poster.pid)
        }
        let third = try center.addObserver(for: Self.progress) { @TestActor number, stage in
            TestActor.preconditionIsolated()
            heard.stages.add("\(number) \(stage)")
        }
        let fourth = try center.addObserver(forNames: ["ticks", "progress"]) { @TestActor notification in
            TestActor.preconditionIsolated()
            heard.names.add(notification.name)
        }
        try await heard.expectAll(in: test)
        for token in [first, second, third, fourth] { await token.cancelAndWait() }
    }

    @Test func aMethodOfTheMainActorRunsOnTheMainActor() async throws {
        let test = try TestCenter()
        let center = test.center
        let controllers = await MainActor.run { (Controller(), Controller(), Controller(), Controller()) }
        let (ticks, envelopes, stages, names) = controllers
        let first = try center.addObserver(for: Ticks.self, using: ticks.tick)
        let second = try center.addObserver(for: Ticks.self, using: envelopes.tickWithEnvelope)
        let third = try center.addObserver(for: Self.progress, using: stages.progressed)
        let fourth = try center.addObserver(forNames: "ticks", using: names.posted)
        let peer = try Peer(test, "post", "ticks", "3", "key", "progress", "2", "wait")
        expectEqual(await ticks.got.wait(for: 3), ["tick 0", "tick 1", "tick 2"])
        expectEqual(await envelopes.got.wait(for: 3), (0..<3).map { "tick \($0) of \(peer.pid)" })
        expectEqual(await stages.got.wait(for: 2), ["0 stage", "1 stage"])
        expectEqual(await names.got.wait(for: 3), ["ticks", "ticks", "ticks"])
        for token in [first, second, third, fourth] { await token.cancelAndWait() }
    }

    /// An option that the closure's isolation excludes is an error, and leaves no observer.
    @Test func aQueueOrAnExecutorForAnotherKindOfClosureIsRefused() throws {
        let test = try TestCenter()
        let center = test.center
        let queue = Center.ObserverOptions(queue: DispatchQueue(label: "test"))
        let executor = Center.ObserverOptions(executor: QueueExecutor())
        func refuses(_ what: Comment, _ register: () throws -> Center.ObservationToken) {
            let error = #expect(throws: SharedNotificationError.self, what) { _ = try register() }
            #expect(error?.code == .invalidArgument, what)
        }
        refuses("queue, main actor") { try center.addObserver(for: Ticks.self, options: queue) { @MainActor _ in } }
        refuses("queue, main actor, envelope") {
            try center.addObserver(for: Ticks.self, options: queue) { @MainActor _, _ in }
        }
        refuses("queue, main actor, key") {
            try center.addObserver(for: Self.progress, options: queue) { @MainActor _, _ in }
        }
        refuses("queue, main actor, names") {
            try center.addObserver(forNames: "ticks", options: queue) { @MainActor _ in }
        }
        refuses("queue, other actor") { try center.addObserver(for: Ticks.self, options: queue) { @TestActor _ in } }
        refuses("queue, task") { try center.addObserver(for: Ticks.self, options: queue) { (_: Ticks) async in } }
        refuses("queue, task, envelope") {
            try center.addObserver(for: Ticks.self, options: queue) { (_: Ticks, _: Center.Envelope) async in }
        }
        refuses("queue, task, key") {
            try center.addObserver(for: Self.progress, options: queue) { (_: Int, _: String) async in }
        }
        refuses("executor, plain") { try center.addObserver(for: Ticks.self, options: executor) { _ in } }
        refuses("executor, envelope") { try center.addObserver(for: Ticks.self, options: executor) { _, _ in } }
        refuses("executor, key") { try center.addObserver(for: Self.progress, options: executor) { _, _ in } }
        refuses("executor, names") { try center.addObserver(forNames: "ticks", options: executor) { _ in } }
        refuses("executor, main actor") {
            try center.addObserver(for: Ticks.self, options: executor) { @MainActor _ in }
        }
        #expect(try center.statistics.observers == 0)
    }

    /// The closures are isolated to the global actor, as the methods are.
    @TestActor private final class Impatient {
        var token: Center.ObservationToken?
        var calls = 0

        nonisolated init() {}

        func follow(_ center: Center) throws {
            token = try center.addObserver(for: Ticks.self) { @TestActor [weak self] _ in self?.calls += 1 }
        }

        /// Occupies the actor while `during` makes notifications wait for it, then cancels. Returns the number of calls
        /// before the cancellation.
        func cancel(after during: @Sendable () -> Void) -> Int {
            during()
            token?.cancel()
            return calls
        }
    }

    @Test func aClosureDoesNotRunAfterItsActorCancelled() async throws {
        let test = try TestCenter()
        let impatient = Impatient()
        try await impatient.follow(test.center)
        let seen = Events<Int>()
        let marker = try test.center.addObserver(for: Ticks.self) { seen.add($0.number) }
        for round in 1...20 {
            let calls = await impatient.cancel {
                for number in 0..<100 { _ = try? test.center.post(Ticks(number: number)) }
                // By then most notifications wait for the actor.
                seen.block(for: 100 * round)
            }
            // The drains that were enqueued before have run, and found no notification.
            for _ in 0..<10 { await Task.yield() }
            expectEqual(await impatient.calls, calls)
            try await impatient.follow(test.center)
        }
        marker.cancel()
    }

    @Test func anObservationEndsWithItsActor() async throws {
        let test = try TestCenter()
        var counter: Counter? = Counter()
        weak let gone = counter
        let token = try await counter!.follow(test.center)
        let got = counter!.got
        try test.center.post(Ticks(number: 0))
        await got.wait(for: 1)
        counter = nil
        // The task of the closure holds the actor until the closure has returned.
        while gone != nil { await Task.yield() }
        // The next notification ends the observation, although the program has the token.
        try test.center.post(Ticks(number: 1))
        while !token.isCancelled { await Task.yield() }
        while try test.center.statistics.observers > 0 { await Task.yield() }
        #expect(got.all == [0] && counter == nil)
    }
}
