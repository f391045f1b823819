internal import Dispatch

/// Holds the posts that wait, and posts them when they are due.
final class PostingQueue: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with `lock` held.
    private let core: PostingCore
    // Lock order: `posting`, then `lock`. No user code runs with `lock` held.
    private let lock = Lock()
    private var posts = DeferredPosts()
    /// A timer block for the `whenIdle` posts is scheduled.
    private var isTimed = false
    /// The thread that holds `posting`, in `drain`.
    private var poster: WorkerThread?
    /// The posts that this thread has taken and has not begun to post, in order.
    private var taken: ArraySlice<DeferredPosts.Pending> = []
    /// The post that this thread is posting, and how many posts it has begun.
    private var underWay: DeferredPosts.Pending?
    private var begun: UInt64 = 0
    /// The diagnostics hook has called `drain` on that thread: after this round, `drain` takes all posts once more.
    private var isAskedAgain = false
    /// Held while the taken posts are posted, so that no later post overtakes them. A test holds it to keep posts
    /// waiting.
    let posting = Lock()
    private let queue = DispatchQueue(label: "tidings.posts")
    private let generation = Forking.generation

    init(_ core: PostingCore) { self.core = core }

    func post(
        _ pending: DeferredPosts.Pending, style: DeferredPosts.Style, coalescing: DeferredPosts.Coalescing
    ) throws(SharedNotificationError) {
        // A forked child has no thread for the queue, and `lock` may have been held at the fork.
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
            try core.post(pending)
        } else if style == .asap {
            queue.async { self.drain(all: false) }
        }
    }

    /// Removes the taken posts that the new post replaces. Call with `lock` held.
    ///
    /// If a post that the new one replaces is being posted, this waits for it: that post must not come after the new
    /// one. It does not wait for other posts: the diagnostics hook may run inside one, and may wait for this thread.
    private func replaceTaken(by new: DeferredPosts.Pending, _ coalescing: DeferredPosts.Coalescing) {
        taken.removeAll { new.replaces($0, coalescing) }
        guard let underWay, new.replaces(underWay, coalescing), poster != .current else { return }
        let number = begun
        while self.underWay != nil, begun == number { lock.wait() }
    }

    /// Posts the posts that are due, or all. If the diagnostics hook calls this during a post of `drain`, that `drain`
    /// repeats its loop once and takes all posts.
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
                        try core.post(pending)
                    } catch { failures.append((pending.name, error)) }
                }
                all = lock.withLock {
                    poster = nil
                    defer { isAskedAgain = false }
                    return isAskedAgain
                }
            } while all
        }
        // The hook is user code, so it runs without `posting`.
        for (name, error) in failures { core.diagnostics.report(.postFailed(name, error)) }
    }

    /// The next post to post, after the previous one was posted or failed. `nil`: there are no more.
    private func next() -> DeferredPosts.Pending? {
        lock.withLock {
            if underWay != nil { lock.wakeAll() }
            underWay = taken.popFirst()
            if underWay != nil { begun += 1 }
            return underWay
        }
    }

    private func startTimer() {
        let now = Lock.now
        let due = lock.withLock { posts.due }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(due > now ? due - now : 0))) {
            self.drain(all: false)
            // Posts that came during `drain` need another timer.
            let isEmpty = self.lock.withLock {
                self.isTimed = !self.posts.isEmpty
                return self.posts.isEmpty
            }
            if !isEmpty { self.startTimer() }
        }
    }
}
