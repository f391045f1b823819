internal import Dispatch

/// Posts that wait, and the queue that posts them.
final class PostingQueue: Sendable {
    private struct State {
        var posts = DeferredPosts()
        /// A block is on its way for those for `whenIdle`.
        var isTimed = false
        /// The thread that holds `posting`, in `drain`.
        var poster: WorkerThread?
        /// The hook has called `drain` on that thread: all is to be taken once more.
        var isAskedAgain = false
    }

    private let core: CenterCore
    private let state = Locked(State())
    /// Held while what was taken is posted, so that nothing overtakes it. Who holds it (a test) keeps back what waits.
    let posting = Lock()
    private let queue = DispatchQueue(label: "tidings.posts")
    private let generation = Forking.generation

    init(core: CenterCore) {
        self.core = core
    }

    func post(
        _ pending: DeferredPosts.Pending, style: SharedNotificationCenter.PostingStyle,
        coalescing: SharedNotificationCenter.Coalescing
    ) throws(SharedNotificationError) {
        // A forked child has no queue, and may find the lock held.
        let isForked = generation != Forking.generation
        if !isForked {
            let isTimer = state.withLock { state in
                state.posts.enqueue(pending, style: style, coalescing: coalescing, now: Lock.now)
                guard style == .whenIdle, !state.isTimed else { return false }
                state.isTimed = true
                return true
            }
            if isTimer { startTimer() }
        }
        if isForked {
            try post(pending)
        } else if style == .now {
            // An older one that it stands for may have been taken already, and must not be posted after it.
            let isTaken = state.withLock { $0.poster != nil && $0.poster != .current }
            if isTaken {
                try posting.withLock { () throws(SharedNotificationError) in try post(pending) }
            } else {
                try post(pending)
            }
        } else if style == .asap {
            queue.async { self.drain(all: false) }
        }
    }

    /// Posts what is due, or all. If the diagnostics hook calls this during a post of `drain`, that `drain` goes round once more and takes all.
    func drain(all: Bool) {
        guard generation == Forking.generation else { return }
        let isWithin = state.withLock { state in
            guard state.poster == .current else { return false }
            state.isAskedAgain = true
            return true
        }
        if isWithin { return }
        var failures: [(SharedNotificationCenter.Name, SharedNotificationError)] = []
        posting.withLock {
            var all = all
            repeat {
                let taken = state.withLock { state in
                    state.poster = .current
                    return state.posts.take(now: Lock.now, all: all)
                }
                for pending in taken {
                    do throws(SharedNotificationError) {
                        try post(pending)
                    } catch { failures.append((pending.name, error)) }
                }
                all = state.withLock { state in
                    state.poster = nil
                    defer { state.isAskedAgain = false }
                    return state.isAskedAgain
                }
            } while all
        }
        // User code, without the lock.
        for (name, error) in failures { core.diagnostics.report(.postFailed(name, error)) }
    }

    private func post(_ pending: DeferredPosts.Pending) throws(SharedNotificationError) {
        _ = try core.post(
            pending.payload, name: pending.name, subject: pending.subject, as: pending.type,
            options: PostOptions(retain: false, deadline: nil))
    }

    private func startTimer() {
        let now = Lock.now
        let due = state.withLock { $0.posts.due }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(due > now ? due - now : 0))) {
            self.drain(all: false)
            // More has come meanwhile.
            let isEmpty = self.state.withLock { state in
                state.isTimed = !state.posts.isEmpty
                return state.posts.isEmpty
            }
            if !isEmpty { self.startTimer() }
        }
    }
}
