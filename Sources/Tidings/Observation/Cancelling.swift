extension Observation {
    /// The observation whose asynchronous closure the current task runs.
    @TaskLocal static var current: Observation?

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
        guard !dispatcher.isForked, Self.current !== self else { return }
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
        guard ClosureWaits.shared.begin(for: self) else { return }
        dispatcher.lock.withLock {
            while machine.isRunning { dispatcher.lock.wait() }
        }
        ClosureWaits.shared.end(for: self)
    }

    /// Whether a running asynchronous closure might need this thread, or the actor it works for, to come to its end.
    private static var mustNotBlock: Bool {
        withUnsafeCurrentTask { $0 != nil } || WorkerThread.isMain
    }
}

extension ObservationAnchor {
    /// Ends registrations of one object, and waits for their closures. None begins to run while this waits for another: the next in their lane would.
    static func cancelAll(_ anchors: some Collection<ObservationAnchor>) {
        for anchor in anchors { anchor.observation.endRuns() }
        for anchor in anchors { anchor.cancel(waiting: true) }
    }
}
