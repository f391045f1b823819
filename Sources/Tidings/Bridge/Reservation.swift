internal import CTidings
import Glibc
import TidingsCoding

/// Memory to build a payload in, from its beginning or after it has outgrown the poster's stack.
///
/// It is memory of the center. If the center object follows its name, it is memory of this process, so that the payload
/// can be posted in the next center.
struct Reservation: ~Copyable, PayloadMemory {
    // Unowned, because the poster keeps the link alive, and most posts need no reservation.
    private unowned(unsafe) let link: CenterLink
    /// The poster's stack memory, where the payload begins; empty: it begins here.
    private let scratch: UnsafeRawBufferPointer
    var raw = tidings_reservation()
    /// Whether there is memory that must be posted or given back.
    var isHeld = false

    init(
        link: CenterLink,
        after scratch: UnsafeMutableRawBufferPointer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    ) {
        self.link = link
        self.scratch = UnsafeRawBufferPointer(scratch)
    }

    deinit {
        if isHeld { Self.giveBack(raw, link) }
    }

    @inline(never)
    private static func giveBack(_ raw: tidings_reservation, _ link: CenterLink) {
        var raw = raw
        if link.follows { free(raw.bytes) } else { tidings_abandon(link.handle.center, &raw) }
    }

    /// The first `count` bytes of the payload in the memory.
    func payload(_ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: raw.bytes, count: count)
    }

    var isProcessMemory: Bool {
        @inline(never) get { link.follows }
    }

    /// Memory for at least `needed` bytes that begins with the `used` bytes written so far.
    @inline(never)
    mutating func grow(used: Int, needed: Int) throws(SharedNotificationError) -> UnsafeMutableRawBufferPointer {
        // Doubling causes few moves and uses less than twice the memory. If twice the capacity is refused, `needed` may
        // still fit below the maximum.
        let result: Int32
        let isFirst = !isHeld
        if isProcessMemory {
            let capacity = max(needed, 2 * raw.capacity)
            guard let larger = realloc(raw.bytes, capacity) else {
                throw SharedNotificationError(
                    .system(ENOMEM),
                    message: "can't build a payload of \(needed) bytes: this process has no memory for it")
            }
            (raw.bytes, raw.capacity) = (larger, capacity)
            isHeld = true
            result = 0
        } else if isHeld {
            let center = link.handle.center
            var larger = tidings_reserve_more(center, &raw, used, max(needed, 2 * raw.capacity))
            if larger != 0, needed < 2 * raw.capacity {
                larger = tidings_reserve_more(center, &raw, used, needed)
            }
            result = larger
        } else {
            result = tidings_reserve(link.handle.center, needed, &raw)
            isHeld = result == 0
        }
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        let memory = UnsafeMutableRawBufferPointer(start: raw.bytes, count: raw.capacity)
        if isFirst { memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[..<used])) }
        return memory
    }
}
