internal import Dispatch

/// Posts that wait, and the queue that posts them.
final class PostingQueue: @unchecked Sendable {
    // Sendable: what changes is touched with `lock` held only.
    private let core: CenterCore
    // Taken after `posting`. No user code runs with it held.
    private let lock = Lock()
    private var posts = DeferredPosts()
    /// A block is on its way for those for `whenIdle`.
    private var isTimed = false
    /// The thread that holds `posting`, in `drain`.
    private var poster: WorkerThread?
    /// What that thread has taken and still has to post, in order.
    private var taken: ArraySlice<DeferredPosts.Pending> = []
    /// What that thread is posting, and how many it has begun to post.
    private var underWay: DeferredPosts.Pending?
    private var begun: UInt64 = 0
    /// The hook has called `drain` on that thread: all is to be taken once more.
    private var isAskedAgain = false
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
            let isTimer = lock.withLock {
                posts.enqueue(pending, style: style, coalescing: coalescing, now: Lock.now)
                if style == .now { replaceTaken(by: pending, coalescing) }
                guard style == .whenIdle, !isTimed else { return false }
                isTimed = true
                return true
            }
            if isTimer { startTimer() }
        }
        if isForked || style == .now {
            try post(pending)
        } else if style == .asap {
            queue.async { self.drain(all: false) }
        }
    }

    /// With the lock held. Takes out what the new post takes the place of. If such a post is under way, waits for it: it must not
    /// come after the new one. Does not wait for other posts: the diagnostics hook may run inside one, and wait for this thread.
    private func replaceTaken(by new: DeferredPosts.Pending, _ coalescing: SharedNotificationCenter.Coalescing) {
        taken.removeAll { new.replaces($0, coalescing) }
        guard let underWay, new.replaces(underWay, coalescing), poster != .current else { return }
        let number = begun
        while self.underWay != nil, begun == number { lock.wait() }
    }

    /// Posts what is due, or all. If the diagnostics hook calls this during a post of `drain`, that `drain` goes round once more and takes all.
    func drain(all: Bool) {
        guard generation == Forking.generation else { return }
        let isWithin = lock.withLock {
            guard poster == .current else { return false }
            isAskedAgain = true
            return true
        }
        if isWithin { return }
        var failures: [(SharedNotificationCenter.Name, SharedNotificationError)] = []
        posting.withLock {
            var all = all
            repeat {
                lock.withLock {
                    poster = .current
                    taken = posts.take(now: Lock.now, all: all)[...]
                }
                while let pending = next() {
                    do throws(SharedNotificationError) {
                        try post(pending)
                    } catch { failures.append((pending.name, error)) }
                }
                all = lock.withLock {
                    poster = nil
                    defer { isAskedAgain = false }
                    return isAskedAgain
                }
            } while all
        }
        // User code, without the lock.
        for (name, error) in failures { core.diagnostics.report(.postFailed(name, error)) }
    }

    /// The one before has been posted, or has failed. `nil`: it was the last.
    private func next() -> DeferredPosts.Pending? {
        lock.withLock {
            if underWay != nil { lock.wakeAll() }
            underWay = taken.popFirst()
            if underWay != nil { begun += 1 }
            return underWay
        }
    }

    private func post(_ pending: DeferredPosts.Pending) throws(SharedNotificationError) {
        _ = try core.post(
            pending.payload, name: pending.name, subject: pending.subject, as: pending.type,
            options: PostOptions(retain: false, deadline: nil))
    }

    private func startTimer() {
        let now = Lock.now
        let due = lock.withLock { posts.due }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(due > now ? due - now : 0))) {
            self.drain(all: false)
            // More has come meanwhile.
            let isEmpty = self.lock.withLock {
                self.isTimed = !self.posts.isEmpty
                return self.posts.isEmpty
            }
            if !isEmpty { self.startTimer() }
        }
    }
}
