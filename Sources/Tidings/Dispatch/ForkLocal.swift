import Glibc
import Synchronization

/// Which process this is, counted in forks since the program began.
///
/// A forked child has none of its parent's threads, and finds locks as they happened to be. So whatever has a thread or guards
/// something with a lock remembers the generation it was made in, and a look at two integers tells whether it can be used.
enum Forking {
    private static let count = Atomic<UInt>(0)

    private static let registration: Void = {
        // In the child, with only the forking thread: async-signal-safe, a single atomic add.
        pthread_atfork(nil, nil, { Forking.count.add(1, ordering: .relaxed) })
    }()

    /// Must have been called before the fork that is to be noticed: whoever opens a center does.
    static func begin() {
        _ = registration
    }

    // Relaxed: the child's threads all begin after its fork.
    static var generation: UInt { count.load(ordering: .relaxed) }
}

/// An object of which each process has its own, made at first use; a forked child gets a fresh one.
///
/// The parent's is left in the child as it was found (leaked): it may have been changing when the fork happened, so not
/// even releasing it is safe.
final class ForkLocal<Object: AnyObject & Sendable>: Sendable {
    private final class Box: Sendable {
        let object: Unmanaged<Object>
        let generation: UInt

        init(_ object: Object) {
            self.object = .passRetained(object)
            generation = Forking.generation
        }

        deinit {
            object.release()
        }
    }

    private let current = Atomic<Unmanaged<Box>?>(nil)
    private let make: @Sendable () -> Object

    init(_ make: @escaping @Sendable () -> Object) {
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
    var object: Object { borrowed.takeUnretainedValue() }

    /// Valid while the `ForkLocal` lives.
    @inline(__always)
    var borrowed: Unmanaged<Object> {
        let box = current.load(ordering: .acquiring)
        if let box {
            // A box is released by deinit only, so it is alive here, and with it what it refers to.
            let (object, generation) = box._withUnsafeGuaranteedRef { ($0.object, $0.generation) }
            if generation == Forking.generation { return object }
        }
        return renew(box)
    }

    /// - Parameter old: what the caller saw, and can't use. Another look here could find the box that another thread has just made.
    @inline(never)
    private func renew(_ old: Unmanaged<Box>?) -> Unmanaged<Object> {
        let fresh = Unmanaged.passRetained(Box(make()))
        let (done, found) = current.compareExchange(
            expected: old, desired: fresh, ordering: .acquiringAndReleasing)
        if done { return fresh._withUnsafeGuaranteedRef { $0.object } }
        fresh.release()
        // Another thread of this process was first, and nobody replaces a box of this generation.
        return found!._withUnsafeGuaranteedRef { $0.object }
    }
}
