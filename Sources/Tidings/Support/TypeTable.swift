import Synchronization

/// Maps each requested type to a trivial value. A lookup takes no lock and counts no references.
///
/// The table is an array of linked chains, indexed by a few bits of the type's address. A link is complete before one
/// compare-and-exchange puts it at the head of its chain, and it never changes afterwards. Links are freed only with
/// the table. So a lookup only follows pointers, and is valid at any moment, also in a child that was forked during an
/// insertion. There are as many links as requested types: the runtime itself keeps more memory for each type.
final class TypeTable<Value: BitwiseCopyable & Sendable>: Sendable {
    private struct Link {
        let type: ObjectIdentifier
        let value: Value
        let next: UnsafePointer<Link>?
    }

    private struct Chains: ~Copyable, @unchecked Sendable {
        // Sendable: the pointer never changes, and it points to atomics. Each holds the address of a link, or 0 for
        // none.
        let heads = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: count)
        /// The heads of removed chains, which lookups may still follow.
        let removed = Locked<[UInt]>([])

        // 64: a program posts few types. With more types the chains get longer, which is the only consequence.
        static var count: Int { 64 }

        init() { for index in 0..<Self.count { (heads + index).initialize(to: Atomic(0)) } }

        deinit {
            // Relaxed: no other thread has a reference to the table any more.
            for head in (0..<Self.count).map({ heads[$0].load(ordering: .relaxed) }) + removed.withLock({ $0 }) {
                var link = UnsafePointer<Link>(bitPattern: head)
                while let last = link {
                    link = last.pointee.next
                    last.deallocate()
                }
            }
            heads.deinitialize(count: Self.count)
            heads.deallocate()
        }
    }

    private let chains = Chains()

    @inline(__always)
    private func head(of type: ObjectIdentifier) -> UnsafeMutablePointer<Atomic<UInt>> {
        // Type metadata is aligned to 16 bytes and a few dozen bytes long.
        chains.heads + Int(bitPattern: (UInt(bitPattern: type) >> 5) % UInt(Chains.count))
    }

    @inline(__always)
    func value(of type: ObjectIdentifier) -> Value? {
        // Acquire: pairs with the exchange in `insert`, which makes the contents of the links visible.
        Self.find(type, from: head(of: type).pointee.load(ordering: .acquiring))
    }

    @inline(__always)
    private static func find(_ type: ObjectIdentifier, from head: UInt) -> Value? {
        var link = UnsafePointer<Link>(bitPattern: head)
        while let found = link {
            if found.pointee.type == type { return found.pointee.value }
            link = found.pointee.next
        }
        return nil
    }

    /// Removes all values. A lookup that is under way may still return one.
    func removeAll() {
        for index in 0..<Chains.count {
            let head = chains.heads[index].exchange(0, ordering: .acquiringAndReleasing)
            chains.removed.withLock { $0.append(head) }
        }
    }

    /// Returns the table's value for the type. If another thread was first, this is that thread's value.
    func insert(_ value: Value, for type: ObjectIdentifier) -> Value {
        let head = head(of: type)
        var first = head.pointee.load(ordering: .acquiring)
        while true {
            if let found = Self.find(type, from: first) { return found }
            let link = UnsafeMutablePointer<Link>.allocate(capacity: 1)
            link.initialize(to: Link(type: type, value: value, next: UnsafePointer(bitPattern: first)))
            let (done, now) = head.pointee.compareExchange(
                expected: first, desired: UInt(bitPattern: link), ordering: .acquiringAndReleasing)
            if done { return value }
            link.deallocate()
            first = now
        }
    }
}
