import Synchronization

/// Something trivial for each type that was asked about: found without a lock, and without counting references.
///
/// A chain for each of a few bits of the type's address. A link is complete before one exchange puts it in front of its chain, and
/// then never changes; links are freed only with the table. So a look-up follows pointers and nothing else, at any moment, also in
/// a child that was forked in the midst of an insertion. As many links as types were asked about: the runtime keeps more for each.
final class TypeTable<Value: BitwiseCopyable & Sendable>: Sendable {
    private struct Link {
        let type: ObjectIdentifier
        let value: Value
        let next: UnsafePointer<Link>?
    }

    private struct Chains: ~Copyable, @unchecked Sendable {
        // Sendable: the pointer never changes, and what it points to are atomics: addresses of links, 0 for none.
        let heads = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: count)

        // A program posts few types; beyond that chains get longer, and nothing else happens.
        static var count: Int { 64 }

        init() {
            for index in 0..<Self.count { (heads + index).initialize(to: Atomic(0)) }
        }

        deinit {
            for index in 0..<Self.count {
                // Relaxed: nobody else has the table any more.
                var link = UnsafePointer<Link>(bitPattern: heads[index].load(ordering: .relaxed))
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
        // Type metadata is aligned to 16 bytes and a few dozen long.
        chains.heads + Int(bitPattern: (UInt(bitPattern: type) >> 5) % UInt(Chains.count))
    }

    @inline(__always)
    func value(of type: ObjectIdentifier) -> Value? {
        // Acquire: pairs with the exchange in `insert`, so that what the links hold is there.
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

    /// Returns what the table has for the type now: another thread may have been first.
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
