import Dispatch
import Testing

@testable import Tidings

/// Closures on actors, and on executors.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct IsolationTests {
    struct Ticks: Center.Message {
        static let name: Center.Name = "ticks"
        var number: Int
    }

    private actor Counter {
        var numbers: [Int] = []
        var pids: Set<Int32> = []
        var token: Center.ObservationToken?
        let got = Events<Int>()

        func follow(_ center: Center) throws {
            token = try center.addObserver(for: Ticks.self, isolatedTo: self) { counter, tick in
                counter.assertIsolated()
                counter.numbers.append(tick.number)
                counter.got.add(tick.number)
            }
        }

        func note(_ pid: Int32) { pids.insert(pid) }
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
        let token = try test.center.addObserver(for: Ticks.self, isolatedTo: counter) { counter, _, envelope in
            counter.note(envelope.poster.pid)
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
        let key = Center.Key<Int, String>("progress")
        let token = try test.center.addObserver(for: key, isolatedTo: counter) {
            (counter: isolated Counter, number: Int, stage: String) in
            counter.numbers.append(number)
            got.add("\(number) \(stage)")
        }
        let peer = try Peer(test, "key", "progress", "3")
        expectEqual(await got.wait(for: 3), ["0 stage", "1 stage", "2 stage"])
        expectEqual(await counter.numbers, [0, 1, 2])
        await peer.waitForEnd()
        token.cancel()
    }

    @Test func anActorsOwnExecutorRunsIt() async throws {
        let test = try TestCenter()
        let actor = OnQueue()
        let got = Events<Bool>()
        let token = try test.center.addObserver(for: Ticks.self, isolatedTo: actor) { actor, tick in
            actor.numbers.append(tick.number)
            got.add(QueueExecutor.isCurrent)
        }
        let peer = try Peer(test, "post", "ticks", "100")
        expect(await got.wait(for: 100)) { all in all.allSatisfy { $0 } }
        expectEqual(await actor.numbers, Array(0..<100))
        await peer.waitForEnd()
        token.cancel()
    }

    @Test func anExecutorRunsAsynchronousClosures() async throws {
        let test = try TestCenter()
        let executor = QueueExecutor()
        let got = Events<(Int, Bool)>()
        let token = try test.center.addObserver(for: Ticks.self, executor: executor) { tick in
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

    private actor Impatient {
        var token: Center.ObservationToken?
        var calls = 0

        func follow(_ center: Center) throws {
            token = try center.addObserver(for: Ticks.self, isolatedTo: self) { actor, _ in actor.calls += 1 }
        }

        /// Keeps the actor while `during` makes notifications wait for it, then cancels. The calls there were until then.
        func cancel(after during: @Sendable () -> Void) -> Int {
            during()
            token?.cancel()
            return calls
        }
    }

    @Test func whatTheActorCancelsDoesNotRunAnyMore() async throws {
        let test = try TestCenter()
        let actor = Impatient()
        try await actor.follow(test.center)
        let seen = Events<Int>()
        let marker = try test.center.addObserver(for: Ticks.self) { seen.add($0.number) }
        for round in 1...20 {
            let calls = await actor.cancel {
                for number in 0..<100 { _ = try? test.center.post(Ticks(number: number)) }
                // Later than the actor's observer got them.
                seen.block(for: 100 * round)
            }
            // The drains that were on their way have come, and found nothing.
            for _ in 0..<10 { await Task.yield() }
            expectEqual(await actor.calls, calls)
            try await actor.follow(test.center)
        }
        marker.cancel()
    }

    @Test func itEndsWithTheActor() async throws {
        let test = try TestCenter()
        var counter: Counter? = Counter()
        weak let gone = counter
        try await counter?.follow(test.center)
        let got = counter!.got
        try test.center.post(Ticks(number: 0))
        await got.wait(for: 1)
        counter = nil
        // The drain has the actor until it has ended.
        while gone != nil { await Task.yield() }
        // The actor had the token.
        #expect(try test.center.statistics.observers == 0)
        // Whoever keeps the token keeps an observation of nothing, until the next notification.
        var lonely: Counter? = Counter()
        let token = try test.center.addObserver(for: Ticks.self, isolatedTo: lonely!) { counter, tick in
            counter.got.add(tick.number)
        }
        lonely = nil
        try test.center.post(Ticks(number: 1))
        while !token.isCancelled { await Task.yield() }
    }
}
