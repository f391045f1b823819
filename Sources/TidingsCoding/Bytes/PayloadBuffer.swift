/// Growable output over memory that the caller owns: the poster's stack, a reserved chunk in shared memory, or memory
/// of the process.
///
/// The coder writes through the pointer and never reads back what it has to trust, because another process may be
/// able to write to the same bytes.
@usableFromInline
package struct PayloadBuffer {
    /// The number of bytes written so far. Unchanged by an encoding that throws.
    @usableFromInline package var count = 0

    @usableFromInline package private(set) var memory: UnsafeMutableRawBufferPointer
    // The owner of the memory, and its type. Trivial to copy and destroy, which a closure is not.
    private let owner: UnsafeMutableRawPointer
    private let ownerType: any (PayloadMemory & ~Copyable).Type

    /// Starts empty. `owner` stays where it is as long as the buffer is used.
    @usableFromInline
    package init<Memory: PayloadMemory & ~Copyable>(
        _ memory: UnsafeMutableRawBufferPointer, owner: UnsafeMutablePointer<Memory>
    ) {
        self.memory = memory
        self.owner = UnsafeMutableRawPointer(owner)
        ownerType = Memory.self
    }

    @inlinable @inline(__always) package var base: UnsafeMutableRawPointer { memory.baseAddress ?? Self.nowhere }

    /// The base of empty memory, never dereferenced.
    @inlinable @inline(__always) static var nowhere: UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(bitPattern: 16).unsafelyUnwrapped
        // Not zero, hence not nil.
    }

    /// The output, valid until the next write.
    @inlinable @inline(__always)
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Grows the memory so that `size` more bytes fit behind the first `used`, which are kept.
    mutating func reserve(_ size: Int, behind used: Int) throws {
        let (needed, overflow) = used.addingReportingOverflow(size)
        if overflow { throw PayloadBufferFull(needed: .max, capacity: memory.count) }
        if needed <= memory.count { return }
        // Kept even if it is too short: the owner may have released the memory that it replaces.
        memory = try ownerType.grow(at: owner, used: used, needed: needed)
        guard memory.count >= needed else { throw PayloadBufferFull(needed: needed, capacity: memory.count) }
    }
}

/// What owns the memory that a `PayloadBuffer` writes to.
@usableFromInline
package protocol PayloadMemory: ~Copyable {
    /// Returns a buffer of at least `needed` bytes that already holds the first `used` bytes.
    ///
    /// `needed` is exactly what the next write takes: an owner with a maximum refuses at the maximum and not before.
    /// Growing by doubling is the owner's business.
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

extension PayloadBuffer {
    /// The bytes that `write` writes, outside shared memory. The buffer begins on the stack and goes on in own memory.
    @inlinable @inline(__always)
    package static func bytes(_ write: (inout PayloadBuffer) throws -> Void) throws -> [UInt8] {
        try withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { scratch in
            var growth = Growth(memory: scratch)
            defer { growth.end() }
            return try withUnsafeMutablePointer(to: &growth) { growth in
                var buffer = PayloadBuffer(scratch, owner: growth)
                try write(&buffer)
                return Array(buffer.bytes)
            }
        }
    }

    /// Own memory, used when the stack's memory is full.
    @usableFromInline
    struct Growth: PayloadMemory {
        @usableFromInline var memory: UnsafeMutableRawBufferPointer
        /// Grown by doubling. Outgrown memory is kept until the end: an encoder may still hold a pointer into it.
        @usableFromInline var owned: [UnsafeMutableRawBufferPointer] = []

        @inlinable init(memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

        @usableFromInline @inline(never)
        mutating func grow(used: Int, needed: Int) -> UnsafeMutableRawBufferPointer {
            let size = max(needed, 2 * memory.count)
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
            owned.append(larger)
            memory = larger
            return larger
        }

        @inlinable @inline(__always) func end() { for each in owned { each.deallocate() } }
    }
}
