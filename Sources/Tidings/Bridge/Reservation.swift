internal import CTidings
import Glibc
import TidingsCoding

/// Memory to build a payload in, from its beginning or after it has outgrown the poster's stack.
///
/// Memory of the center, except in two cases: if the center object follows its name, so that the payload can be posted
/// in the next center; and if the post has a timeout and the center has no memory at once. Then it is memory of this
/// process. So the encoder never waits: the post waits, with its timeout.
struct Reservation: ~Copyable, PayloadMemory {
    // Unowned, because the poster keeps the link alive, and most posts need no reservation.
    private unowned(unsafe) let link: CenterLink
    /// The poster's stack memory that has the beginning of the payload. Empty: the payload begins in this memory.
    private let scratch: UnsafeRawBufferPointer
    private let hasTimeout: Bool
    private var isInProcess = false
    var raw = tidings_reservation()
    /// Whether there is memory that must be posted or given back.
    var isHeld = false

    init(
        link: CenterLink, hasTimeout: Bool,
        after scratch: UnsafeMutableRawBufferPointer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    ) {
        self.link = link
        self.hasTimeout = hasTimeout
        self.scratch = UnsafeRawBufferPointer(scratch)
    }

    deinit { if isHeld { Self.giveBack(raw, isProcessMemory ? nil : link) } }

    @inline(never)
    private static func giveBack(_ raw: tidings_reservation, _ link: CenterLink?) {
        var raw = raw
        if let link { tidings_abandon(link.handle.center, &raw) } else { free(raw.bytes) }
    }

    /// The first `count` bytes of the payload in the memory.
    func payload(_ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: raw.bytes, count: count)
    }

    var isProcessMemory: Bool {
        @inline(never) get { isInProcess || link.follows }
    }

    /// Memory for at least `needed` bytes that begins with the `used` bytes written so far.
    @inline(never)
    mutating func grow(used: Int, needed: Int) throws(SharedNotificationError) -> UnsafeMutableRawBufferPointer {
        let isFirst = !isHeld
        if isProcessMemory {
            try growInProcess(used: used, needed: needed)
        } else {
            let result = growInCenter(used: used, needed: needed)
            if result == -EAGAIN, hasTimeout {
                try growInProcess(used: used, needed: needed)
            } else if result != 0 {
                throw SharedNotificationError(errno: -result)
            }
        }
        let memory = UnsafeMutableRawBufferPointer(start: raw.bytes, count: raw.capacity)
        if isFirst { memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[..<used])) }
        return memory
    }

    // Doubling causes few moves and uses less than twice the memory.
    private mutating func growInCenter(used: Int, needed: Int) -> Int32 {
        let center = link.handle.center
        guard isHeld else {
            let result = tidings_reserve(center, needed, &raw)
            isHeld = result == 0
            return result
        }
        let result = tidings_reserve_more(center, &raw, used, max(needed, 2 * raw.capacity))
        // If twice the capacity is refused, `needed` may still fit below the maximum.
        return result != 0 && needed < 2 * raw.capacity ? tidings_reserve_more(center, &raw, used, needed) : result
    }

    private mutating func growInProcess(used: Int, needed: Int) throws(SharedNotificationError) {
        let isChunk = isHeld && !isProcessMemory
        let capacity = max(needed, 2 * raw.capacity)
        guard let larger = realloc(isChunk ? nil : raw.bytes, capacity) else {
            throw SharedNotificationError(
                .system(ENOMEM),
                message: "can't build a payload of \(needed) bytes: this process has no memory for it")
        }
        if isChunk {
            larger.copyMemory(from: raw.bytes, byteCount: used)
            tidings_abandon(link.handle.center, &raw)
        }
        (raw.bytes, raw.capacity) = (larger, capacity)
        (isHeld, isInProcess) = (true, true)
    }
}
