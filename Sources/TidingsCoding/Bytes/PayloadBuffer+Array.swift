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
        /// The memory that is written to now.
        @usableFromInline var memory: UnsafeMutableRawBufferPointer
        /// Grown by doubling. Outgrown memory is kept until the end: an encoder may still hold a pointer into it.
        @usableFromInline var owned: [UnsafeMutableRawBufferPointer] = []

        @inlinable
        init(memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

        @usableFromInline @inline(never)
        mutating func grow(used: Int, needed: Int) -> UnsafeMutableRawBufferPointer {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(needed, 2 * memory.count), alignment: 16)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
            owned.append(larger)
            memory = larger
            return larger
        }

        @inlinable @inline(__always)
        func end() { for each in owned { each.deallocate() } }
    }
}
