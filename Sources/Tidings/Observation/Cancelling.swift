// How an observation ends, and how callers wait for its closure.

extension Observation {
    /// One run of an asynchronous closure.
    struct Run: Sendable {
        let observation: Observation
        let number: UInt64

        /// Whether the run has not returned.
        var goesOn: Bool {
            !observation.dispatcher.isForked
                && observation.dispatcher.lock.withLock {
                    observation.machine.runner == .task && observation.machine.runs == number
                }
        }
    }

    /// The run that contains the current task or has started it. A task that the run started may outlive the run.
    @TaskLocal static var run: Run?

    /// The run of an asynchronous closure that contains the caller and has not returned.
    static var current: Run? {
        guard let run, run.goesOn else { return nil }
        return run
    }

    /// Ends the observation. With `waiting`: returns when the closure is not running, unless that wait could be endless
    /// (see ``SharedNotificationCenter/ObservationToken/cancel()``).
    func cancel(waiting: Bool) {
        // In a forked child, no closure runs, and another thread of the parent may have held the lock.
        guard !dispatcher.isForked else { return }
        if waiting, endRuns() { waitForRunner() }
        var stop = Roles.Stop.nothing
        let (manner, pulling, task) = dispatcher.lock.withLock {
            endRunsLocked()
            // After the wait for the closure: a leader that was in the closure has left it, so this thread can wait for
            // the leader.
            stop = dispatcher.remove(self)
            // If this call is the first, `manner` still holds the closure.
            plain = nil
            defer { (self.manner, self.pulling) = (nil, []) }
            return (self.manner, self.pulling, self.task)
        }
        task?.cancel()
        for continuation in pulling { continuation.resume(returning: nil) }
        dispatcher.finish(stop)
        // The cancelling caller releases here what the closure holds. No lock may be held, because a deinit may run any
        // code.
        withExtendedLifetime(manner) {}
    }

    /// Prevents further runs of the closure. True: the closure is running, on this thread or another thread or task.
    @discardableResult
    func endRuns() -> Bool {
        guard !dispatcher.isForked else { return false }
        return dispatcher.lock.withLock {
            endRunsLocked()
            return machine.isRunning
        }
    }

    private func endRunsLocked() {
        if machine.cancel() { dispatcher.lock.wakeAll() }  // a leader may wait for room in the buffer
    }

    func cancelAndWait() async {
        cancel(waiting: false)
        guard !dispatcher.isForked, let wait = ClosureWaits.shared.begin(for: self, inTask: true) else { return }
        defer { ClosureWaits.shared.end(wait) }
        await withUnsafeContinuation { continuation in
            let isOver = dispatcher.lock.withLock {
                if !machine.isRunning { return true }
                ending.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Called after the closure has returned. Returns the continuations that wait for its end. With the lock held;
    /// resume the result without the lock.
    func ended() -> [UnsafeContinuation<Void, Never>] {
        guard machine.isCancelled else { return [] }
        dispatcher.lock.wakeAll()
        defer { ending = [] }
        return ending
    }

    /// The observation has been cancelled, so the current run of the closure is the last.
    private func waitForRunner() {
        switch dispatcher.lock.withLock({ machine.runner }) {
        case .noRunner, .noRunnerYet: return
        case .thread(.current): return
        case .task where Self.mustNotBlock: return
        case .thread, .task: break
        }
        guard let wait = ClosureWaits.shared.begin(for: self) else { return }
        dispatcher.lock.withLock {
            while machine.isRunning { dispatcher.lock.wait() }
        }
        ClosureWaits.shared.end(wait)
    }

    /// Whether a running asynchronous closure might need this thread, or its actor, to end.
    private static var mustNotBlock: Bool { withUnsafeCurrentTask { $0 != nil } || WorkerThread.isMain }
}

extension Observation {
    /// Ends registrations of one object, and waits for their closures. First it prevents new runs of all, because
    /// otherwise the lane would start the next closure during a wait.
    static func cancelAll(_ observations: [Observation]) {
        for observation in observations { observation.endRuns() }
        for observation in observations { observation.cancel(waiting: true) }
    }
}

/// References to observations that do not keep them alive. A result may hold an observation's last reference: release
/// it without a lock.
struct WeakObservations: Sendable {
    private struct Reference: Sendable {
        weak let observation: Observation?
    }

    private var references: [Reference] = []

    var count: Int { references.count }
    var all: [Observation] { references.compactMap(\.observation) }

    mutating func add(_ observation: Observation) { references.append(Reference(observation: observation)) }

    /// Keeps the observations for which `isKept` is true. Returns all that were alive.
    mutating func prune(_ isKept: (Observation) -> Bool = { _ in true }) -> [Observation] {
        let alive = all
        references = alive.filter(isKept).map(Reference.init)
        return alive
    }
}

/// Registrations that ended while their closures ran. The next removal of the object waits for these closures. The
/// thread or task that runs a closure holds its registration; after that, what `onMissed` holds is released.
struct EndingRegistrations: Sendable {
    private var byObject: [ObjectIdentifier: WeakObservations] = [:]

    /// Release the result without a lock.
    func of(_ object: ObjectIdentifier) -> [Observation] { byObject[object]?.all ?? [] }

    /// Adds the registration, if its closure is running.
    mutating func add(_ object: ObjectIdentifier, _ observation: Observation) {
        if observation.isRunning { byObject[object, default: WeakObservations()].add(observation) }
    }

    /// Removes the registrations whose closures have returned. Release the result without a lock.
    mutating func forgetEnded() -> [Observation] {
        var alive: [Observation] = []
        for object in byObject.keys {
            alive += byObject[object]!.prune(\.isRunning)
            if byObject[object]!.count == 0 { byObject[object] = nil }
        }
        return alive
    }
}

extension Observation {
    fileprivate var isRunning: Bool { !dispatcher.isForked && dispatcher.lock.withLock { machine.isRunning } }
}
