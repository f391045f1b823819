extension Observation {
    /// The observation whose asynchronous closure the current task runs.
    @TaskLocal static var current: Observation?

    /// Ends it. With `waiting`: returns when the closure is not running, unless that could never come to pass (see
    /// ``SharedNotificationCenter/ObservationToken/cancel()``).
    func cancel(waiting: Bool) {
        // In a forked child nothing of this runs, and the lock may be anybody's.
        guard !dispatcher.isForked else { return }
        var stop = Roles.Stop.nothing
        let (manner, pulling, task) = dispatcher.lock.withLock {
            let isFirst = machine.cancel()
            if isFirst { dispatcher.lock.wakeAll() }  // a leader that waits for room in the buffer
            if waiting { waitForRunner() }
            // Late, so that a leader in the closure has left it, and can be waited for.
            stop = dispatcher.remove(self)
            guard isFirst else { return (Manner?.none, [UnsafeContinuation<Item?, Never>](), Task<Void, Never>?.none) }
            // `manner` holds the closure still.
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

    /// With the lock held, which is given up while waiting.
    private func waitForRunner() {
        let thread = WorkerThread.current
        while true {
            switch machine.runner {
            case .nobody, .nobodyYet: return
            case .thread(thread): return
            case .task where Self.mustNotBlock: return
            case .thread, .task: dispatcher.lock.wait()
            }
        }
    }

    /// Whether a running asynchronous closure might need this thread, or the actor it works for, to come to its end.
    private static var mustNotBlock: Bool {
        withUnsafeCurrentTask { $0 != nil } || WorkerThread.isMain
    }
}
