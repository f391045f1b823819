/// Growable output over memory that the caller owns: a claimed record in shared memory, or a thread's scratch page.
///
/// The coder writes through the pointer and never reads back what it has to trust, because another process may be
/// able to write to the same bytes.
@usableFromInline
package struct PayloadBuffer {
    /// Returns a buffer of at least `needed` bytes that already holds the first `used` bytes.
    ///
    /// `needed` is exactly what the next write takes, so that an owner with a maximum can refuse at that maximum and
    /// not before. Growing by doubling is the owner's business.
    @usableFromInline package typealias Grow = (_ used: Int, _ needed: Int) throws -> UnsafeMutableRawBufferPointer

    /// The number of bytes written so far. Unchanged by an encoding that throws.
    @usableFromInline package var count: Int

    @usableFromInline package private(set) var memory: UnsafeMutableRawBufferPointer
    private let grow: Grow?
    /// The owner of the memory, and its type. Trivial to copy and destroy, which a closure is not.
    private let owner: UnsafeMutableRawPointer?
    private let ownerType: (any (PayloadMemory & ~Copyable).Type)?

    /// The buffer starts empty. Without `grow`, its size is a hard limit.
    package init(_ initial: UnsafeMutableRawBufferPointer, grow: Grow?) {
        memory = initial
        count = 0
        self.grow = grow
        (owner, ownerType) = (nil, nil)
    }

    /// - Parameter owner: stays where it is as long as the buffer is used.
    @usableFromInline
    package init<Memory: PayloadMemory & ~Copyable>(
        _ initial: UnsafeMutableRawBufferPointer, owner: UnsafeMutablePointer<Memory>
    ) {
        memory = initial
        count = 0
        grow = nil
        self.owner = UnsafeMutableRawPointer(owner)
        ownerType = Memory.self
    }

    /// Never nil: without memory a pointer that is not dereferenced, for there is no room.
    @inlinable @inline(__always)
    package var base: UnsafeMutableRawPointer {
        memory.baseAddress ?? UnsafeMutableRawPointer(bitPattern: 16).unsafelyUnwrapped
        // Not zero, hence not nil.
    }

    /// The output, valid until the next write.
    @inlinable @inline(__always)
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Replaces the memory by at least `needed` bytes, of which the first `used` are kept.
    mutating func reserve(used: Int, needed: Int) throws {
        if needed <= memory.count { return }
        let grown: UnsafeMutableRawBufferPointer
        if let owner, let ownerType {
            grown = try ownerType.grow(at: owner, used: used, needed: needed)
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

/// What owns the memory that a `PayloadBuffer` writes to.
@usableFromInline
package protocol PayloadMemory: ~Copyable {
    /// As ``PayloadBuffer/Grow``.
    mutating func grow(used: Int, needed: Int) throws -> UnsafeMutableRawBufferPointer
}

extension PayloadMemory where Self: ~Copyable {
    /// `owner` points to a value of this type.
    fileprivate static func grow(
        at owner: UnsafeMutableRawPointer, used: Int, needed: Int
    ) throws -> UnsafeMutableRawBufferPointer {
        try owner.assumingMemoryBound(to: Self.self).pointee.grow(used: used, needed: needed)
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
