/// A thread's own copy of the payload that it passes to closures. A large payload has its own array (``LentMemory``).
///
/// User code (a decoder or a closure) never reads the C observer's buffer. While user code hangs, another thread may
/// take the next notification, and that is copied into the same buffer.
struct PayloadScratch: ~Copyable {
    // In bytes. Enough for payloads that fit a slot, and for most larger ones. It grows to `LentMemory.least` at most.
    private static let usual = 4096

    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: usual, alignment: 16)

    deinit {
        memory.deallocate()
    }

    /// The copy is valid until the next call.
    mutating func copy(_ payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if payload.count > memory.count {
            memory.deallocate()
            memory = .allocate(byteCount: payload.count, alignment: 16)
        }
        memory.copyMemory(from: payload)
        return UnsafeRawBufferPointer(rebasing: memory[..<payload.count])
    }
}
