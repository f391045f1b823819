/// What an iterator reads from: an observation that is asked.
final class Feed: Sendable {
    private let anchor: ObservationAnchor?

    var observation: Observation? { anchor?.observation }

    /// Starts to observe. A failure is told to the center's diagnostics; there is nothing to read then.
    init(core: CenterCore, subscription: Subscription, bounds: DeliveryBuffer.Bounds, notesArrivals: Bool = false) {
        do {
            anchor = try core.observe(
                subscription, onMissed: nil, bounds: bounds, notesArrivals: notesArrivals, as: .pull)
        } catch {
            core.diagnostics.report(.sequenceFailed(error))
            anchor = nil
        }
    }

    /// The next item; `nil` when the task was cancelled, or dispatching has ended.
    func next(isolation actor: isolated (any Actor)?) async -> Item? {
        guard let anchor else { return nil }
        let observation = anchor.observation
        let item = await withTaskCancellationHandler {
            await withUnsafeContinuation(isolation: actor) { observation.pull($0) }
        } onCancel: {
            observation.endPulling()
        }
        // Here, not in `onCancel`: that runs with a lock of the task held, which the dispatcher thread may be waiting for to resume this task. Whoever
        // ended that thread there, and waited for it, would wait for ever.
        if item == nil { observation.cancel(waiting: false) }
        return item
    }

    /// Tells the closure that was given for it, or else the center's diagnostics.
    func reportMissed(_ count: Int, to handler: (@Sendable (Int) -> Void)?) {
        if let handler { return handler(count) }
        guard let observation = anchor?.observation else { return }
        let names = observation.subscription.names ?? []
        observation.diagnostics.report(.missed(count, names.count == 1 ? names[0] : nil))
    }
}

extension Observation {
    /// Resumes with the next item, as soon as there is one.
    fileprivate func pull(_ continuation: UnsafeContinuation<Item?, Never>) {
        guard !dispatcher.isForked else { return continuation.resume(returning: nil) }
        let item: Item?? = dispatcher.lock.withLock {
            if machine.isCancelled { return .some(nil) }
            if let item = machine.pull() {
                if subscription.isLossless { dispatcher.lock.wakeAll() }
                return item
            }
            if dispatcher.roles.isStopped { return .some(nil) }
            pulling.append(continuation)
            return .none
        }
        if let item { resume(continuation, with: item) }
    }

    /// Nothing is read any more: those who wait are told. The observation itself is ended later, by `cancel`.
    fileprivate func endPulling() {
        // In a forked child nothing of this runs, and the lock may be anybody's.
        guard !dispatcher.isForked else { return }
        let pulling = dispatcher.lock.withLock {
            _ = machine.cancel()
            dispatcher.lock.wakeAll()  // a leader that waits for room in the buffer
            defer { self.pulling = [] }
            return self.pulling
        }
        for continuation in pulling { continuation.resume(returning: nil) }
    }

    /// Nothing comes any more but this, for iterators. With the lock held; what is returned is to be called without.
    func endPulls(_ last: Item) -> () -> Void {
        guard case .pull = manner else { return {} }
        _ = machine.keep(last)
        let waiting = pulling.map { ($0, machine.pull()) }
        pulling = []
        return { for (continuation, item) in waiting { self.resume(continuation, with: item) } }
    }

    /// Without the lock.
    func resume(_ continuation: UnsafeContinuation<Item?, Never>, with item: Item?) {
        if case .missed(let count, _) = item { diagnostics.countMissed(count) }
        continuation.resume(returning: item)
    }
}
