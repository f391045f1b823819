extension Observation {
    /// One run of an asynchronous closure.
    struct Run: Sendable {
        let observation: Observation
        let number: UInt64

        /// It has not returned.
        var goesOn: Bool {
            !observation.dispatcher.isForked
                && observation.dispatcher.lock.withLock {
                    observation.machine.runner == .task && observation.machine.runs == number
                }
        }
    }

    /// The run that the current task is part of, or that has started it: a task that was started there may go on after it.
    @TaskLocal static var run: Run?

    /// The run of an asynchronous closure that the caller is inside of.
    static var current: Run? {
        guard let run, run.goesOn else { return nil }
        return run
    }

    /// Ends it. With `waiting`: returns when the closure is not running, unless that could never come to pass (see
    /// ``SharedNotificationCenter/ObservationToken/cancel()``).
    func cancel(waiting: Bool) {
        // In a forked child nothing of this runs, and the lock may be anybody's.
        guard !dispatcher.isForked else { return }
        if waiting, endRuns() { waitForRunner() }
        var stop = Roles.Stop.nothing
        let (manner, pulling, task) = dispatcher.lock.withLock {
            endRunsLocked()
            // Late, so that a leader in the closure has left it, and can be waited for.
            stop = dispatcher.remove(self)
            // `manner` holds the closure still, if this is the first to come here.
            plain = nil
            defer { (self.manner, self.pulling) = (nil, []) }
            return (self.manner, self.pulling, self.task)
        }
        task?.cancel()
        for continuation in pulling { continuation.resume(returning: nil) }
        dispatcher.finish(stop)
        // What the closure holds is released here, by the one who cancels, with no lock held: its deinit may do anything.
        withExtendedLifetime(manner) {}
    }

    /// From now on the closure does not begin to run. True: it is running, here or elsewhere.
    @discardableResult
    func endRuns() -> Bool {
        guard !dispatcher.isForked else { return false }
        return dispatcher.lock.withLock {
            endRunsLocked()
            return machine.isRunning
        }
    }

    private func endRunsLocked() {
        if machine.cancel() { dispatcher.lock.wakeAll() }  // a leader that waits for room in the buffer
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

    /// The closure has returned: who waits for its end? With the lock held; resume what is returned without.
    func ended() -> [UnsafeContinuation<Void, Never>] {
        guard machine.isCancelled else { return [] }
        dispatcher.lock.wakeAll()
        defer { ending = [] }
        return ending
    }

    /// It has been cancelled, so the closure that runs now is the last.
    private func waitForRunner() {
        switch dispatcher.lock.withLock({ machine.runner }) {
        case .nobody, .nobodyYet: return
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

    /// Whether a running asynchronous closure might need this thread, or the actor it works for, to come to its end.
    private static var mustNotBlock: Bool {
        withUnsafeCurrentTask { $0 != nil } || WorkerThread.isMain
    }
}

extension Observation {
    /// Ends registrations of one object, and waits for their closures. None begins to run while this waits for another: the next in their lane would.
    static func cancelAll(_ observations: [Observation]) {
        for observation in observations { observation.endRuns() }
        for observation in observations { observation.cancel(waiting: true) }
    }
}

/// Registrations that ended while their closures ran. The next removal of the object waits for these closures.
///
/// A registration is held weakly: the thread or task that runs its closure holds it. After the closure has returned, what `onMissed` holds is released.
struct EndingRegistrations<RegistrationKey: Sendable>: Sendable {
    private struct Registration: Sendable {
        let registrationKey: RegistrationKey
        weak let observation: Observation?
    }

    private var byObject: [ObjectIdentifier: [Registration]] = [:]

    /// Release what it returns without a lock: one may be the last reference.
    func of(_ object: ObjectIdentifier, where isMeant: (RegistrationKey) -> Bool) -> [Observation] {
        (byObject[object] ?? []).filter { isMeant($0.registrationKey) }.compactMap(\.observation)
    }

    /// Notes it, if its closure runs.
    mutating func add(_ object: ObjectIdentifier, _ registrationKey: RegistrationKey, _ observation: Observation) {
        guard observation.isRunning else { return }
        byObject[object, default: []].append(Registration(registrationKey: registrationKey, observation: observation))
    }

    /// Forgets those whose closures have returned. Release what it returns without a lock: one may be the last reference.
    mutating func forgetEnded() -> [Observation] {
        var alive: [Observation] = []
        for (object, registrations) in byObject {
            let running = registrations.filter { registration in
                guard let observation = registration.observation else { return false }
                alive.append(observation)
                return observation.isRunning
            }
            guard running.count < registrations.count else { continue }
            byObject[object] = running.isEmpty ? nil : running
        }
        return alive
    }
}

extension Observation {
    fileprivate var isRunning: Bool { !dispatcher.isForked && dispatcher.lock.withLock { machine.isRunning } }
}
