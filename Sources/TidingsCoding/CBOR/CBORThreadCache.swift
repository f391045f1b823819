import Glibc
import Synchronization

extension CBORWriter {
    static let cache: CBORThreadCache<CBORWriter> = CBORThreadCache { CBORWriter.cache.threadEnded($0) }
}

extension CBORReader.State {
    static let cache: CBORThreadCache<CBORReader.State> = CBORThreadCache { CBORReader.State.cache.threadEnded($0) }
}

/// The states of writers or readers, never freed: a container that some type keeps beyond its time may still hold one.
/// A thread keeps one; when it ends, the state waits in a pool for another thread. So there are as many as threads were
/// coding at the same time, and some more where a type's `encode(to:)` encodes another payload.
struct CBORThreadCache<State: CBORPooled>: ~Copyable, Sendable {
    private typealias Kept = UnsafeMutablePointer<UnsafeMutablePointer<State>?>

    private let pool = CBORPool<State>()
    /// The threads' own slot. `nil` if the process ran out of keys: then every payload goes through the pool.
    private let key: pthread_key_t?

    /// - Parameter destructor: calls `threadEnded`.
    init(_ destructor: @convention(c) (UnsafeMutableRawPointer?) -> Void) {
        var key = pthread_key_t()
        self.key = pthread_key_create(&key, destructor) == 0 ? key : nil
    }

    func threadEnded(_ slot: UnsafeMutableRawPointer?) {
        guard let kept = slot?.assumingMemoryBound(to: Kept.Pointee.self) else { return }
        // The slot holds nothing else, and its thread is over.
        if let state = kept.pointee { pool.push(state) }
        kept.deallocate()
    }

    /// A state for this thread alone, until it is given back.
    @inline(__always)
    func take() -> UnsafeMutablePointer<State> {
        guard let kept, let state = kept.pointee else { return pool.pop() ?? makeState() }
        kept.pointee = nil
        return state
    }

    @inline(__always)
    func giveBack(_ state: UnsafeMutablePointer<State>) {
        if let kept, kept.pointee == nil { kept.pointee = state } else { pool.push(state) }
    }

    @inline(never)
    private func makeState() -> UnsafeMutablePointer<State> {
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State())
        // Fresh memory, of the right size.
        return state
    }

    /// What this thread keeps. Only the thread itself has the pointer.
    @inline(__always)
    private var kept: Kept? {
        guard let key else { return nil }
        if let pointer = pthread_getspecific(key) { return pointer.assumingMemoryBound(to: Kept.Pointee.self) }
        // The slot holds nothing else.
        return makeSlot(key)
    }

    @inline(never)
    private func makeSlot(_ key: pthread_key_t) -> Kept? {
        let kept = Kept.allocate(capacity: 1)
        kept.initialize(to: nil)
        // Fresh memory, of the right size; handed over to the slot or freed again.
        if pthread_setspecific(key, kept) == 0 { return kept }
        kept.deallocate()
        return nil
    }
}

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

    func push(_ state: UnsafeMutablePointer<State>) { push(chain: state, last: state) }

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
