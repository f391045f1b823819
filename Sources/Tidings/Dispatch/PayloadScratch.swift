/// A thread's own copy of the payload it serves closures with.
///
/// User code, a decoder or a closure, never reads the C observer's buffer: while it hangs another thread may have gone on to the next
/// notification, which is copied to the same place.
struct PayloadScratch: ~Copyable {
    // Enough for what fits a slot, and most of what does not.
    private static let usual = 4096
    // More than this is given back at once.
    private static let kept = 1 << 20

    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: usual, alignment: 16)

    deinit {
        memory.deallocate()
    }

    /// Valid until the next call.
    mutating func copy(_ payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if payload.count > memory.count || memory.count > Self.kept {
            memory.deallocate()
            memory = .allocate(byteCount: max(payload.count, Self.usual), alignment: 16)
        }
        memory.copyMemory(from: payload)
        return UnsafeRawBufferPointer(rebasing: memory[..<payload.count])
    }
}
