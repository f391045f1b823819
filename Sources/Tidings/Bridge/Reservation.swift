internal import CTidings

/// Shared memory to encode a payload in that has outgrown the poster's stack.
struct Reservation: ~Copyable {
    // Unowned: the poster keeps the center, and most posts need no reservation.
    private unowned(unsafe) let center: CenterHandle
    /// The poster's stack, where a payload begins.
    private let scratch: UnsafeRawBufferPointer
    var raw = tidings_reservation()
    /// There is memory that must be posted or given back.
    var isHeld = false

    init(center: CenterHandle, after scratch: UnsafeMutableRawBufferPointer) {
        self.center = center
        self.scratch = UnsafeRawBufferPointer(scratch)
    }

    deinit {
        // A copy, for a deinit can't change what it ends.
        var raw = raw
        if isHeld { tidings_abandon(center.center, &raw) }
    }

    /// Memory for at least `needed` bytes, that holds what was written so far, `used` bytes.
    @inline(never)
    mutating func grow(used: Int, needed: Int) throws(SharedNotificationError) -> UnsafeMutableRawBufferPointer {
        // Doubling: few moves, and less than twice the memory. The maximum stays within reach of the last step.
        let result: Int32
        let isFirst = !isHeld
        if isHeld {
            var larger = tidings_reserve_more(center.center, &raw, used, max(needed, 2 * raw.capacity))
            if larger != 0, needed < 2 * raw.capacity {
                larger = tidings_reserve_more(center.center, &raw, used, needed)
            }
            result = larger
        } else {
            result = tidings_reserve(center.center, needed, &raw)
            isHeld = result == 0
        }
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        let memory = UnsafeMutableRawBufferPointer(start: raw.bytes, count: raw.capacity)
        if isFirst { memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[..<used])) }
        return memory
    }
}
