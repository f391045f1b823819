import Synchronization

/// Something a `CBORPool` holds.
protocol CBORPooled {
    /// The one below in the pool.
    var next: UnsafeMutablePointer<Self>? { get set }
}

/// A pool without a lock, because a child that is forked while another thread holds a lock waits for it for ever.
struct CBORPool<State: CBORPooled>: ~Copyable, Sendable {
    /// The address of the topmost, 0 for none. A number, since pointers aren't `Sendable`; whoever takes an address out
    /// is its only owner.
    private let top = Atomic<UInt>(0)

    func push(_ state: UnsafeMutablePointer<State>) {
        push(chain: state, last: state)
    }

    private func push(chain first: UnsafeMutablePointer<State>, last: UnsafeMutablePointer<State>) {
        var below = top.load(ordering: .relaxed)
        // Relaxed: only the address is used, as a number, and the exchange compares it.
        while true {
            last.pointee.next = UnsafeMutablePointer(bitPattern: below)
            // Not visible to others yet, so that the plain store is ours alone.
            let (exchanged, found) = top.compareExchange(
                expected: below, desired: UInt(bitPattern: first), successOrdering: .releasing,
                failureOrdering: .relaxed)
            // Release: pairs with the exchange in `pop`. The relaxed failure is as the load above.
            if exchanged { return }
            below = found
        }
    }

    /// Takes all, keeps one and puts the others back: taking only the topmost would need to read its `next` while
    /// somebody else may own it. Who comes in between finds none and makes a new one, which does no harm.
    func pop() -> UnsafeMutablePointer<State>? {
        guard top.load(ordering: .relaxed) != 0,
            // Relaxed: a hint, what counts is the exchange.
            let first = UnsafeMutablePointer<State>(bitPattern: top.exchange(0, ordering: .acquiring))
        else { return nil }
        if let rest = first.pointee.next {
            var last = rest
            while let below = last.pointee.next { last = below }
            // The whole chain is this thread's since the exchange.
            push(chain: rest, last: last)
            first.pointee.next = nil
        }
        return first
    }
}
