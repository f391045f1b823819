// How a bridge recognizes what it has forwarded itself.
import Foundation
import Tidings

/// Remembers what a bridge has forwarded and will receive back, so that it does not forward it again.
final class Forwarding<Value: Sendable>: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.
    private let lock = NSLock()
    /// The positions of the bridge's own posts that it has not received back yet. They come back in order.
    private var posted: [UInt64] = []
    /// The values that the bridge posted in this process and has not received back yet.
    private var inward: [Value] = []
    /// Whether the bridge forwards in both directions. With one direction nothing comes back.
    private let comesBack: Bool
    private let isSame: @Sendable (Value, Value) -> Bool

    init(
        _ direction: SharedNotificationCenter.NotificationBridge.Direction,
        isSame: @escaping @Sendable (Value, Value) -> Bool
    ) {
        comesBack = direction == .both
        self.isSame = isSame
    }

    /// Posts a value to the shared center, unless it came from there. The lock is held during the post, so that an
    /// observer of this bridge can't receive the post before its position is noted.
    func outward(_ value: Value, post: () throws(SharedNotificationError) -> UInt64) throws(SharedNotificationError) {
        lock.lock()
        defer { lock.unlock() }
        if let index = inward.firstIndex(where: { isSame($0, value) }) {
            inward.remove(at: index)
            return
        }
        let position = try post()
        if comesBack { posted.append(position) }
    }

    /// Notes a value that the bridge posts in this process.
    func willMeet(_ value: Value) {
        if comesBack { lock.withLock { inward.append(value) } }
    }

    /// Whether a notification from the shared center is one that this bridge forwarded there.
    func isOwn(_ envelope: SharedNotificationCenter.Envelope) -> Bool {
        guard envelope.isOwn else { return false }
        return lock.withLock {
            guard let index = posted.firstIndex(of: envelope.sequence) else { return false }
            // The own posts before this one were missed. Their positions may be higher: positions begin again in the
            // next center of the name.
            posted.removeSubrange(...index)
            return true
        }
    }
}
