internal import CTidings
import Glibc

/// How to post, as the public functions say it.
struct PostOptions {
    var retain: Bool
    var deadline: Duration?
}

/// A name, with or without a subject, prepared for posting. Closed when nothing refers to it any more.
final class TopicHandle: @unchecked Sendable {
    // Sendable: the pointer never changes, and every function of the C library may be called from any thread.
    private let topic: OpaquePointer
    private let center: CenterHandle
    /// What bitwise payloads of the type it was made for begin with; 0 if it was made for a name.
    let fingerprint: UInt64

    init(
        center: CenterHandle, name: String, subject: String?, fingerprint: UInt64 = 0
    ) throws(SharedNotificationError) {
        var opened: OpaquePointer?
        let result = withUTF8(name) { name in
            withUTF8(subject) { subject in
                tidings_topic_open(
                    center.center, name!.baseAddress, name!.count, subject?.baseAddress, subject?.count ?? 0, &opened)
            }
        }
        guard result == 0, let opened else { throw SharedNotificationError(errno: -result, invalid: .invalidName) }
        self.center = center
        self.fingerprint = fingerprint
        topic = opened
    }

    deinit {
        tidings_topic_close(topic)
    }

    func post(
        _ payload: UnsafeRawBufferPointer, format: UInt8, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        var raw = tidings_post_options(format: format, options)
        var sequence: UInt64 = 0
        let result = tidings_post(topic, payload.baseAddress, payload.count, &raw, &sequence)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return sequence
    }

    /// Posts what is in the reservation, which is used up, also on failure.
    func post(
        _ reservation: Reservation, count: Int, format: UInt8, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        var raw = tidings_post_options(format: format, options)
        var sequence: UInt64 = 0
        reservation.isHeld = false
        let result = tidings_post_reserved(topic, &reservation.raw, count, &raw, &sequence)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return sequence
    }

    func clearState() throws(SharedNotificationError) {
        let result = tidings_state_set(topic, nil, 0, nil)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
    }

    /// The kept value: format and bytes; `nil` if there is none.
    func state() throws(SharedNotificationError) -> (format: UInt8, bytes: [UInt8])? {
        var capacity = 1024
        while true {
            var size = capacity
            var format: UInt8 = 0
            var result: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                result = tidings_state_get(topic, buffer.baseAddress, &size, &format, nil)
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
    fileprivate init(format: UInt8, _ options: PostOptions) {
        self.init()
        self.format = format
        flags = options.retain ? UInt8(TIDINGS_POST_RETAIN) : 0
        deadline_ns = options.deadline.map(Self.nanoseconds) ?? 0
    }

    /// As the C library wants it: what does not fit 63 bits is without end.
    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow2) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        if overflow || overflow2 { return seconds < 0 ? 0 : -1 }
        return max(0, sum)
    }
}
