extension PayloadBuffer {
    /// The bytes that `write` writes, outside shared memory. The buffer begins on the stack and goes on in own memory.
    @inline(__always)
    package static func bytes(_ write: (inout PayloadBuffer) throws -> Void) throws -> [UInt8] {
        try withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { scratch in
            var growth = Growth(memory: scratch)
            defer { growth.end() }
            return try withUnsafeMutablePointer(to: &growth) { growth in
                var buffer = PayloadBuffer(
                    scratch,
                    owner: PayloadBuffer.Owner(state: UnsafeMutableRawPointer(growth)) { state, used, needed in
                        state.assumingMemoryBound(to: Growth.self).pointee.grow(used: used, needed: needed)
                        // The variable above, alive as long as the buffer.
                    })
                try write(&buffer)
                return Array(buffer.bytes)
            }
        }
    }

    /// Own memory, used when the stack's memory is full.
    private struct Growth {
        /// The memory that is written to now.
        var memory: UnsafeMutableRawBufferPointer
        /// Grown by doubling. Memory given up before is kept until the end: an encoder may still hold a pointer into it.
        var owned: [UnsafeMutableRawBufferPointer] = []

        @inline(never)
        mutating func grow(used: Int, needed: Int) -> UnsafeMutableRawBufferPointer {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(needed, 2 * memory.count), alignment: 16)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
            owned.append(larger)
            memory = larger
            return larger
        }

        @inline(__always)
        func end() { for each in owned { each.deallocate() } }
    }
}
