import Glibc

/// A mutex with a condition.
///
/// Not `Synchronization.Mutex`: what that guards looks like a race to the thread sanitizer on Linux, and there would be no condition to
/// wait for.
final class Lock: @unchecked Sendable {
    // Sendable: both pointers never change, and what they point to is made for use by many threads.
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

    /// Waits for ``wakeAll()``; may return without. Only with the lock held, which is given up meanwhile.
    func wait() {
        pthread_cond_wait(condition, mutex)
    }

    /// As ``wait()``, until so many nanoseconds of ``now`` at most. False: it is that late.
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

    func wakeAll() {
        pthread_cond_broadcast(condition)
    }
}

/// A value behind a lock.
final class Locked<Value: Sendable>: @unchecked Sendable {
    // Sendable: the value is touched with the lock held only.
    private let lock = Lock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        try lock.withLock { () throws(Failure) in try body(&value) }
    }
}
