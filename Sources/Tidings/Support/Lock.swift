// Locks: a mutex with a condition, and a value that a lock guards.
import Glibc

/// A mutex with a condition.
///
/// Not `Synchronization.Mutex`: on Linux, the thread sanitizer reports accesses under it as races, and it has no
/// condition to wait for.
final class Lock: @unchecked Sendable {
    // Sendable: both pointers never change, and the objects that they point to are made for use by several threads.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Waits for ``wakeAll()``, and may return without it. Call with the lock held; the lock is released during the
    /// wait.
    func wait() { pthread_cond_wait(condition, mutex) }

    /// Waits like ``wait()``, until ``now`` is `deadline` (nanoseconds) at most. False: the deadline has passed.
    func wait(until deadline: UInt64) -> Bool {
        var until = timespec()
        until.tv_sec = Int(deadline / 1_000_000_000)
        until.tv_nsec = Int(deadline % 1_000_000_000)
        return pthread_cond_timedwait(condition, mutex, &until) != ETIMEDOUT
    }

    /// The monotonic clock, in nanoseconds.
    static var now: UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    }

    func wakeAll() { pthread_cond_broadcast(condition) }
}

/// A value that is accessed only with a lock held.
package final class Locked<Value: Sendable>: @unchecked Sendable {
    // Sendable: the value is accessed only with the lock held.
    private let lock = Lock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try lock.withLock { () throws(Failure) in try body(&value) }
    }
}
