import Foundation
import Tidings

/// What a bridge has forwarded itself and will meet again: it must not go back.
final class Forwarding<Value: Sendable>: @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private let lock = NSLock()
    /// Where in the shared order its own posts are that it has not met again. They come in order.
    private var posted: [UInt64] = []
    /// What it posted in this process and has not met again.
    private var inward: [Value] = []
    private let isSame: @Sendable (Value, Value) -> Bool

    init(isSame: @escaping @Sendable (Value, Value) -> Bool) {
        self.isSame = isSame
    }

    /// Posts to the shared center, unless it is what came from there. The lock is held, so that nobody meets the post before it is known.
    func outward(_ value: Value, post: () throws(SharedNotificationError) -> UInt64) throws(SharedNotificationError) {
        lock.lock()
        defer { lock.unlock() }
        if let index = inward.firstIndex(where: { isSame($0, value) }) {
            inward.remove(at: index)
            return
        }
        posted.append(try post())
    }

    /// Something will be met again in this process.
    func willMeet(_ value: Value) {
        lock.withLock { inward.append(value) }
    }

    /// Whether something that comes from the shared center is what was forwarded there.
    func isOwn(_ envelope: SharedNotificationCenter.Envelope) -> Bool {
        guard envelope.isOwn else { return false }
        return lock.withLock {
            // Those before it were missed.
            if let first = posted.firstIndex(where: { $0 >= envelope.sequence }) {
                posted.removeFirst(first)
            } else {
                posted = []
            }
            guard posted.first == envelope.sequence else { return false }
            posted.removeFirst()
            return true
        }
    }
}
