/// The source of an iterator's items: an observation whose items the iterator takes.
final class Feed: Sendable {
    private let anchor: ObservationAnchor?

    var observation: Observation? { anchor?.observation }

    /// Starts to observe.
    init(
        observing subscription: Subscription, in core: CenterCore, bounds: DeliveryBuffer.Bounds,
        notesArrivals: Bool = false
    ) throws(SharedNotificationError) {
        anchor = try core.observe(subscription, onMissed: nil, bounds: bounds, notesArrivals: notesArrivals, as: .pull)
    }

    /// Starts to observe. A failure is reported to the center's diagnostics, and the feed is then empty.
    convenience init(
        core: CenterCore, subscription: Subscription, bounds: DeliveryBuffer.Bounds, notesArrivals: Bool = false
    ) {
        do {
            try self.init(observing: subscription, in: core, bounds: bounds, notesArrivals: notesArrivals)
        } catch {
            core.diagnostics.report(.observerFailed(nil, error))
            self.init()
        }
    }

    /// A feed without items.
    init() { anchor = nil }

    /// The next item. `nil`: the task was cancelled, or dispatching has ended.
    func next(isolation actor: isolated (any Actor)?) async -> Item? {
        guard let anchor else { return nil }
        let observation = anchor.observation
        let item = await withTaskCancellationHandler {
            await withUnsafeContinuation(isolation: actor) { observation.pull($0) }
        } onCancel: {
            observation.endPulling()
        }
        // Cancel here, not in `onCancel`, which runs with a lock of the task held. The dispatcher thread may wait for
        // that lock to resume this task. If `onCancel` ended that thread and waited for it, it would deadlock.
        if item == nil { observation.cancel(waiting: false) }
        return item
    }

    /// The items that wait already, `count` at most.
    func waiting(_ count: Int) -> [Item] { anchor?.observation.pullWaiting(count) ?? [] }

    /// Ends the feed after everything that is posted before this call. Idempotent, from any thread. Never waits.
    func finish() {
        if let observation = anchor?.observation { observation.dispatcher.finish(observation) }
    }

    /// Reports a loss to the given closure, or to the center's diagnostics if there is none.
    func reportMissed(_ count: Int, _ name: SharedNotificationCenter.Name?, to handler: MissedHandler?) {
        if let handler { return handler(count, name) }
        anchor?.observation.diagnostics.report(.missed(count, name))
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
    fileprivate func pullWaiting(_ count: Int) -> [Item] {
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
        continuation.resume(returning: item)
    }
}
