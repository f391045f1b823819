// How iterators take the items of an observation.

extension ObservationAnchor {
    /// The next item. `nil`: the task was cancelled, or dispatching has ended.
    func next(isolation actor: isolated (any Actor)?) async -> Item? {
        let observation = observation
        let item = await withTaskCancellationHandler {
            await withUnsafeContinuation(isolation: actor) { observation.pull($0) }
        } onCancel: {
            observation.endPulling()
        }
        // See `resume`.
        _ = observation.handovers.load(ordering: .acquiring)
        // Cancel here, not in `onCancel`, which runs with a lock of the task held. The dispatcher thread may wait for
        // that lock to resume this task. If `onCancel` ended that thread and waited for it, it would deadlock.
        if item == nil { observation.cancel(waiting: false) }
        return item
    }
}

extension Observation {
    /// Resumes the continuation with the next item, as soon as there is one.
    fileprivate func pull(_ continuation: UnsafeContinuation<Item?, Never>) {
        guard !dispatcher.isForked else { return continuation.resume(returning: nil) }
        let item: Item?? = dispatcher.lock.withLock {
            if machine.isCancelled { return .some(nil) }
            if let item = machine.pull() {
                if subscription.isLossless { dispatcher.lock.wakeAll() }
                return item
            }
            if machine.isFinished || dispatcher.roles.isStopped { return .some(nil) }
            pulling.append(continuation)
            return .none
        }
        if let item { resume(continuation, with: item) }
    }

    /// Takes the items that wait, `count` at most.
    func pullWaiting(_ count: Int) -> [Item] {
        guard !dispatcher.isForked else { return [] }
        let items = dispatcher.lock.withLock {
            var items: [Item] = []
            while items.count < count, !machine.isCancelled, let item = machine.pull() { items.append(item) }
            if subscription.isLossless, !items.isEmpty { dispatcher.lock.wakeAll() }
            return items
        }
        for case .missed(let count, _) in items { diagnostics.countMissed(count) }
        return items
    }

    /// Ends reading: resumes all waiting iterators with `nil`. A later `cancel` ends the observation itself.
    fileprivate func endPulling() {
        // In a forked child, no closure runs, and another thread of the parent may have held the lock.
        guard !dispatcher.isForked else { return }
        let pulling = dispatcher.lock.withLock {
            _ = machine.cancel()
            dispatcher.lock.wakeAll()  // a leader may wait for room in the buffer
            defer { self.pulling = [] }
            return self.pulling
        }
        for continuation in pulling { continuation.resume(returning: nil) }
    }

    /// Adds the last item for iterators. With the lock held; call the returned closure without the lock.
    func endPulls(_ last: Item) -> () -> Void {
        guard case .pull = manner else { return {} }
        _ = machine.keep(last)
        let waiting = pulling.map { ($0, machine.pull()) }
        pulling = []
        return { for (continuation, item) in waiting { self.resume(continuation, with: item) } }
    }

    /// Resumes an iterator. Without the lock, because the iterator's task may run at once.
    func resume(_ continuation: UnsafeContinuation<Item?, Never>, with item: Item?) {
        if case .missed(let count, _) = item { diagnostics.countMissed(count) }
        // For the thread sanitizer. It does not see how the Swift runtime (6.3) passes a value to a task that is
        // resumed before it has begun to wait, and would call the first use of the item a race.
        handovers.wrappingAdd(1, ordering: .releasing)
        continuation.resume(returning: item)
    }
}
