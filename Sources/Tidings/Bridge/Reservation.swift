internal import CTidings

/// Shared memory to encode a payload in that has outgrown the poster's stack.
final class Reservation {
    private let center: CenterHandle
    var raw = tidings_reservation()
    /// There is memory that must be posted or given back.
    var isHeld = false

    init(center: CenterHandle) {
        self.center = center
    }

    deinit {
        if isHeld { tidings_abandon(center.center, &raw) }
    }

    /// Memory for at least `needed` bytes. What was written so far, `used` bytes, is kept once it is in a reservation.
    func grow(used: Int, needed: Int) throws(SharedNotificationError) -> UnsafeMutableRawBufferPointer {
        // Doubling: few moves, and less than twice the memory. The maximum stays within reach of the last step.
        let result: Int32
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
        return UnsafeMutableRawBufferPointer(start: raw.bytes, count: raw.capacity)
    }
}
