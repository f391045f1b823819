import Foundation

/// A value behind a lock.
///
/// Not `Synchronization.Mutex`: on Linux, what that guards looks like a race to the thread sanitizer.
final class Locked<Value: Sendable>: @unchecked Sendable {
    // Sendable: the value is touched with the lock held only.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
