// Detection of forks, and objects of which each process has its own.
import Glibc
import Synchronization

/// Identifies this process by the number of forks since the program began.
///
/// A forked child has none of its parent's threads, and its locks are in the state they had at the fork. So an object
/// with a thread or a lock remembers the generation in which it was made. Comparing two integers shows whether the
/// object can be used.
enum Forking {
    // Written by the only thread of a forked child, before any other thread begins. Not an `Atomic`: without the
    // optimizer, Swift would make one at its first use, under a lock that Swift takes at each use if a program runs
    // under the thread sanitizer. The child would wait for a thread that holds it in the parent. Swift's check of
    // exclusive accesses took 5 % of a post's instructions.
    @exclusivity(unchecked) nonisolated(unsafe) private static var count: UInt = 0

    private static let registration: Void = {
        // Runs in the child, in its only thread. Async-signal-safe.
        pthread_atfork(nil, nil, { Forking.count += 1 })
    }()

    /// Must be called before the first fork that is to be detected. Opening a center calls it.
    static func begin() { _ = registration }

    static var generation: UInt { count }
}

/// An object of which each process has its own, made at first use. A forked child makes a new one.
///
/// The child leaks the parent's object. That object may have been changing at the fork, so even a release is not safe.
package final class ForkLocal<Object: AnyObject & Sendable>: Sendable {
    private final class Box: Sendable {
        let object: Unmanaged<Object>
        let generation: UInt

        init(_ object: Object) {
            self.object = .passRetained(object)
            generation = Forking.generation
        }

        deinit { object.release() }
    }

    private let current = Atomic<Unmanaged<Box>?>(nil)
    private let make: @Sendable () -> Object

    package init(_ make: @escaping @Sendable () -> Object) {
        self.make = make
        Forking.begin()
    }

    deinit {
        if let box = current.load(ordering: .acquiring),
            box._withUnsafeGuaranteedRef({ $0.generation == Forking.generation })
        {
            box.release()
        }
    }

    @inline(__always)
    package var object: Object { borrowed.takeUnretainedValue() }

    /// Valid while the `ForkLocal` lives.
    @inline(__always)
    var borrowed: Unmanaged<Object> {
        let box = current.load(ordering: .acquiring)
        if let box {
            // Only deinit releases a box of this generation, so the box is alive here, and so is its object.
            let (object, generation) = box._withUnsafeGuaranteedRef { ($0.object, $0.generation) }
            if generation == Forking.generation { return object }
        }
        return renew(box)
    }

    /// - Parameter old: the box that the caller read and can't use. Reading it again here could find the box that
    ///   another thread has just made.
    @inline(never)
    private func renew(_ old: Unmanaged<Box>?) -> Unmanaged<Object> {
        let fresh = Unmanaged.passRetained(Box(make()))
        let (done, found) = current.compareExchange(
            expected: old, desired: fresh, ordering: .acquiringAndReleasing)
        if done { return fresh._withUnsafeGuaranteedRef { $0.object } }
        fresh.release()
        // Another thread of this process was first, and no thread replaces a box of this generation.
        return found!._withUnsafeGuaranteedRef { $0.object }
    }
}
