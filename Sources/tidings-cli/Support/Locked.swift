import Foundation

/// A value protected by a lock.
///
/// Not `Synchronization.Mutex`: on Linux, the thread sanitizer reports accesses under that mutex as races.
final class Locked<Value: Sendable>: @unchecked Sendable {
    // Sendable: the value is accessed only while the lock is held.
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
