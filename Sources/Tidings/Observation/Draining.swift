internal import Dispatch

// Emptying an observation's buffer into its closure, wherever that runs.
extension Observation {
    /// How many items a block on a queue or an actor handles before others there get their turn.
    static let batch = 32

    /// Starts the drain that `ObservationMachine.keep` asked for. Without the lock.
    func startDrain() {
        if lane != nil { return startLane() }
        // The closure itself is not captured by what is started here: it must be gone when `cancel()` has returned.
        let (manner, queue, isAside) = dispatcher.lock.withLock { () -> (Manner?, DispatchQueue?, Bool) in
            // A plain closure is drained only when it was set aside or suspended.
            if case .closure(nil, _) = self.manner, self.queue == nil {
                self.queue = DispatchQueue(label: "tidings.observer")
            }
            return (self.manner, self.queue, machine.isAside)
        }
        switch manner {
        case nil, .pull: break
        case .closure(let given, _):
            if let queue = given ?? queue { queue.async { self.drainOnQueue(isTimed: isAside) } }
        case .mainActor:
            Task { @MainActor in self.drainOnMainActor() }
        case .isolated(let reference, _):
            guard let actor = reference.actor else { return cancel(waiting: false) }
            Task { await self.drain(on: actor) }
        case .task(let executor, _):
            startTask(executor) { while await self.runNextInTask() {} }
        }
    }

    /// Starts the task that the asynchronous closure runs in. It is cancelled with the observation.
    func startTask(_ executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void) {
        let number = dispatcher.lock.withLock {
            tasks += 1
            return tasks
        }
        let task = Task(executorPreference: executor ?? ObserverExecutor.shared) { await body() }
        let isLate = dispatcher.lock.withLock {
            // The task may have come to its end meanwhile, and the next one be here.
            if number == tasks { self.task = task }
            return machine.isCancelled
        }
        if isLate { task.cancel() }
    }

    /// On the thread that was deposed while it was in the closure: hands on what came meanwhile, then the thread ends.
    func drainOnDeposedThread() {
        if lane != nil { return leaveLane() }
        while runNext(isTimed: false) {}
    }

    private func drainOnQueue(isTimed: Bool) {
        if draining({ (0..<Self.batch).contains { _ in !runNext(isTimed: isTimed) } }) { return }
        pause()
        startDrain()
    }

    /// False: there was nothing left, this drain has ended.
    func runNext(isTimed: Bool) -> Bool {
        guard let (item, manner, _) = take(for: .thread(.current)) else { return false }
        guard isTimed else {
            run(manner, with: item)
            return true
        }
        let begin = Lock.now
        run(manner, with: item)
        let took = Lock.now - begin
        dispatcher.lock.withLock { machine.ran(nanoseconds: took) }
        return true
    }

    @MainActor
    private func drainOnMainActor() {
        if draining({ (0..<Self.batch).contains { _ in !runNextOnMainActor() } }) { return }
        pause()
        startDrain()
    }

    @MainActor
    func runNextOnMainActor() -> Bool {
        switch take(for: .thread(.current)) {
        case nil: return false
        case (.arrival(let arrival), .mainActor(let handler), _)?: running(arrival) { handler(arrival) }
        case (.missed(let count, let name), _, _)?: reportMissed(count, of: name)
        default: break
        }
        return true
    }

    private func drain(on actor: isolated any Actor) {
        if draining({ (0..<Self.batch).contains { _ in !runNext(on: actor) } }) { return }
        pause()
        startDrain()
    }

    /// Takes on the actor, not before: what its own methods cancel does not run any more.
    func runNext(on actor: isolated any Actor) -> Bool {
        switch take(for: .thread(.current)) {
        case nil: return false
        case (.arrival(let arrival), .isolated(_, let handler), _)?: running(arrival) { handler(actor, arrival) }
        case (.missed(let count, let name), _, _)?: reportMissed(count, of: name)
        default: break
        }
        return true
    }

    func runNextInTask() async -> Bool {
        guard let (item, manner, number) = take(for: .task) else { return false }
        // Around everything of the user's that runs for the item: `onMissed` and the diagnostics hook may cancel, and post, too.
        await Self.$run.withValue(Run(observation: self, number: number)) {
            switch (item, manner) {
            case (.arrival(let arrival), .task(_, let handler)):
                let sequence = arrival.ownSequence
                let isSampled = sequence.map(beginsOwn) ?? false
                await handler(arrival)
                if isSampled, let sequence { returnsFromOwn(sequence) }
            case (.missed(let count, let name), _): reportMissed(count, of: name)
            default: break
            }
        }
        return true
    }

    /// The next item, the closure, and the number of its run. Records at the same time that the run before has ended.
    private func take(for runner: ObservationMachine.Runner) -> (Item, Manner, run: UInt64)? {
        typealias Taken = (Item, Manner, run: UInt64)
        let (taken, ending) = dispatcher.lock.withLock { () -> (Taken?, [UnsafeContinuation<Void, Never>]) in
            guard let item = machine.take(for: runner), let manner else {
                lane?.isRunning = false
                return (nil, ended())
            }
            lane?.isRunning = true
            if subscription.isLossless { dispatcher.lock.wakeAll() }
            return ((item, manner, machine.runs), [])
        }
        for continuation in ending { continuation.resume() }
        return taken
    }

    func pause() {
        let ending = dispatcher.lock.withLock {
            machine.pauses()
            machine.settles()
            lane?.isRunning = false
            return ended()
        }
        for continuation in ending { continuation.resume() }
    }
}
