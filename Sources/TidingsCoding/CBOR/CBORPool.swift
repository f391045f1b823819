import Synchronization

/// Something a `CBORPool` holds.
protocol CBORPooled {
    init()
    /// The one below in the pool.
    var next: UnsafeMutablePointer<Self>? { get set }
}

/// A pool without a lock, because a child that is forked while another thread holds a lock waits for it for ever.
struct CBORPool<State: CBORPooled>: ~Copyable, Sendable {
    /// The address of the topmost, 0 for none. A number, since pointers aren't `Sendable`. The thread that takes an
    /// address out is its only owner.
    private let top = Atomic<UInt>(0)

    func push(_ state: UnsafeMutablePointer<State>) {
        push(chain: state, last: state)
    }

    private func push(chain first: UnsafeMutablePointer<State>, last: UnsafeMutablePointer<State>) {
        var below = top.load(ordering: .relaxed)
        // Relaxed: only the address is used, as a number, and the exchange compares it.
        while true {
            last.pointee.next = UnsafeMutablePointer(bitPattern: below)
            // No other thread sees the state yet: a plain store is enough.
            let (exchanged, found) = top.compareExchange(
                expected: below, desired: UInt(bitPattern: first), successOrdering: .releasing,
                failureOrdering: .relaxed)
            // Release: pairs with the exchange in `pop`. The relaxed failure is as the load above.
            if exchanged { return }
            below = found
        }
    }

    /// Takes all, keeps one and puts the rest back. To take only the topmost, a thread would read its `next` while
    /// another thread may own it. A thread that comes in between finds an empty pool and makes a new state.
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
