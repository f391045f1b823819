/// Growable output over memory somebody else owns: a claimed record in shared memory, or a thread's scratch page.
///
/// The coder writes through the pointer and never reads back what it has to trust, because another process may be
/// able to write to the same bytes.
package struct PayloadBuffer {
    /// Returns a buffer of at least `needed` bytes that already holds the first `used` bytes.
    ///
    /// `needed` is exactly what the next write takes, so that an owner with a maximum can refuse at that maximum and
    /// not before. Growing by doubling is the owner's business.
    package typealias Grow = (_ used: Int, _ needed: Int) throws -> UnsafeMutableRawBufferPointer

    /// The number of bytes written so far. Unchanged by an encoding that throws.
    package var count: Int

    package private(set) var memory: UnsafeMutableRawBufferPointer
    private let grow: Grow?
    private let owner: Owner?

    /// The buffer starts empty. Without `grow`, its size is a hard limit.
    package init(_ initial: UnsafeMutableRawBufferPointer, grow: Grow?) {
        memory = initial
        count = 0
        self.grow = grow
        owner = nil
    }

    /// Growing without a closure, which would take memory for what it captures even if the buffer never grows.
    package struct Owner {
        /// Alive as long as the buffer.
        package var state: UnsafeMutableRawPointer
        /// As ``Grow``. It captures nothing.
        package var grow: (_ state: UnsafeMutableRawPointer, _ used: Int, _ needed: Int) throws -> UnsafeMutableRawBufferPointer

        package init(
            state: UnsafeMutableRawPointer,
            grow: @escaping (UnsafeMutableRawPointer, Int, Int) throws -> UnsafeMutableRawBufferPointer
        ) {
            self.state = state
            self.grow = grow
        }
    }

    package init(_ initial: UnsafeMutableRawBufferPointer, owner: Owner) {
        memory = initial
        count = 0
        grow = nil
        self.owner = owner
    }

    /// What has been written, valid until the next write.
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory.prefix(count))
    }

    /// Replaces the memory by at least `needed` bytes, of which the first `used` are kept.
    mutating func reserve(used: Int, needed: Int) throws {
        if needed <= memory.count { return }
        let grown: UnsafeMutableRawBufferPointer
        if let owner {
            grown = try owner.grow(owner.state, used, needed)
        } else if let grow {
            grown = try grow(used, needed)
        } else {
            throw PayloadBufferFull(needed: needed, capacity: memory.count)
        }
        // Kept even when it is too short: the owner may have released the memory that it replaces.
        memory = grown
        guard grown.count >= needed else { throw PayloadBufferFull(needed: needed, capacity: grown.count) }
    }
}

/// A payload did not fit, and the buffer's owner offered no more memory.
package struct PayloadBufferFull: Error, CustomStringConvertible {
    package var needed: Int
    package var capacity: Int

    package var description: String {
        "can't write the payload: it needs \(needed) bytes or more, the buffer holds \(capacity)"
    }
}
