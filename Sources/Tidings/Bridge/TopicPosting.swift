internal import CTidings
import Glibc

/// How to post, as the public functions say it.
struct PostOptions {
    var retain: Bool
    var deadline: Duration?
    var isImmediate = false
}

extension Topic {
    @inline(__always)
    func post(
        _ payload: UnsafeRawBufferPointer, format: UInt8, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        defer { withExtendedLifetime(handle) {} }
        var raw = tidings_post_options(format: format, options)
        var sequence: UInt64 = 0
        let result = tidings_post(self.raw, payload.baseAddress, payload.count, &raw, &sequence)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return sequence
    }

    /// Posts what is in the reservation, which is used up, also on failure.
    func post(
        _ reservation: inout Reservation, count: Int, format: UInt8, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        defer { withExtendedLifetime(handle) {} }
        var raw = tidings_post_options(format: format, options)
        var sequence: UInt64 = 0
        reservation.isHeld = false
        let result = tidings_post_reserved(self.raw, &reservation.raw, count, &raw, &sequence)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return sequence
    }

    func clearState() throws(SharedNotificationError) {
        defer { withExtendedLifetime(handle) {} }
        let result = tidings_state_set(raw, nil, 0, nil)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
    }

    /// The kept value: format and bytes; `nil` if there is none.
    func state() throws(SharedNotificationError) -> (format: UInt8, bytes: [UInt8])? {
        defer { withExtendedLifetime(handle) {} }
        var capacity = 1024
        while true {
            var size = capacity
            var format: UInt8 = 0
            var result: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                result = tidings_state_get(raw, buffer.baseAddress, &size, &format, nil)
                count = result == 0 ? min(size, capacity) : 0
            }
            switch -result {
            case 0: return (format, bytes)
            case ENOENT: return nil
            // It says how much it needs; another value may have come by the next look.
            case ENOBUFS: capacity = max(size, 2 * capacity)
            case let code: throw SharedNotificationError(errno: code)
            }
        }
    }
}

extension tidings_post_options {
    @inline(__always)
    fileprivate init(format: UInt8, _ options: PostOptions) {
        self.init()
        self.format = format
        flags = options.retain ? UInt8(TIDINGS_POST_RETAIN) : 0
        if options.isImmediate { flags |= UInt8(TIDINGS_POST_IMMEDIATE) }
        if let deadline = options.deadline { deadline_ns = Self.nanoseconds(deadline) }
    }

    /// As the C library wants it: what does not fit 63 bits is without end.
    @inline(never)
    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow2) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        if overflow || overflow2 { return seconds < 0 ? 0 : -1 }
        return max(0, sum)
    }
}
