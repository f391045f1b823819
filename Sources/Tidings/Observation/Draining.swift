// Moves items from an observation's buffer to its closure, in the context where the closure runs.

internal import Dispatch

extension Observation {
    /// How many items one block on a queue or actor handles before it yields to other work there.
    static let batch = 32

    /// Starts the drain that `ObservationMachine.keep` asked for. Without the lock.
    func startDrain() {
        if lane != nil { return startLane() }
        let (manner, queue) = dispatcher.lock.withLock { () -> (Manner?, DispatchQueue?) in
            // A plain closure has a drain only after it was set aside or suspended.
            if case .closure(nil, _) = self.manner, self.queue == nil {
                self.queue = DispatchQueue(label: "tidings.observer")
            }
            return (self.manner, self.queue)
        }
        schedule(manner, queue, { $0.drain() }, inTask: { while await $0.runNextInTask() {} })
    }

    /// Calls `body`, or `inTask` for an asynchronous closure, in the context of the closure. False: there is no
    /// closure.
    ///
    /// The tasks and blocks started here must not capture the closure: it must be released when `cancel()` has
    /// returned. The tasks are detached: the caller may be in the task that ends a suspension, whose task-local values
    /// are not the closure's.
    @discardableResult
    func schedule(
        _ manner: Manner?, _ queue: DispatchQueue?, _ body: @escaping @Sendable (Observation) -> Void,
        inTask: @escaping @Sendable (Observation) async -> Void
    ) -> Bool {
        switch manner {
        case nil, .pull: return false
        // A closure without a queue of its own is scheduled on the lane's queue, or on the one that `startDrain` made.
        case .closure(let given, _): (given ?? queue)!.async { body(self) }
        case .mainActor: Task.detached { @MainActor in body(self) }
        case .isolated(let actor, _): Task.detached { await self.call(body, on: actor) }
        case .task(let executor, _): startTask(executor) { await inTask(self) }
        }
        return true
    }

    private func call(_ body: @Sendable (Observation) -> Void, on actor: isolated any Actor) { body(self) }

    /// Starts the task in which the asynchronous closure runs. The task is cancelled with the observation.
    private func startTask(_ executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void) {
        let number = dispatcher.lock.withLock {
            tasks += 1
            return tasks
        }
        let task = Task.detached(executorPreference: executor ?? ObserverExecutor.shared) { await body() }
        let isLate = dispatcher.lock.withLock {
            // The task may have ended in the meantime, and the next task may have been stored.
            if number == tasks { self.task = task }
            return machine.isCancelled
        }
        if isLate { task.cancel() }
    }

    /// On the thread that was deposed while it was in the closure. Handles the items that arrived meanwhile; then the
    /// thread ends.
    func drainOnDeposedThread() {
        freeDetached()
        if lane != nil { return leaveLane() }
        while runNext(isTimed: false) {}
    }

    /// In the context of a closure that is not asynchronous: handles up to one batch of items.
    private func drain() {
        let isTimed = dispatcher.lock.withLock { machine.isAside }
        if draining({ (0..<Self.batch).contains { _ in !runNext(isTimed: isTimed) } }) { return }
        pause()
        startDrain()
    }

    /// Handles one item, in the context of a closure that is not asynchronous. False: no item was left, and this drain
    /// has ended.
    ///
    /// The item is taken in that context: after a method of the closure's actor has cancelled the token, the closure
    /// does not run.
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

    func runNextInTask() async -> Bool {
        guard let (item, manner, number) = take(for: .task) else { return false }
        // The task-local value covers all user code that runs for the item: `onMissed` and the diagnostics hook may
        // cancel and post, too.
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

    /// Takes the next item, the closure, and the number of its run. In the same critical section, it records that the
    /// previous run has ended.
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
