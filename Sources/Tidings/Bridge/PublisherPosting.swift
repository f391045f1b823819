internal import CTidings
import Glibc

/// How to post, as the public functions say it.
struct PostOptions {
    var retain: Bool
    var deadline: Duration?
    var isImmediate = false
}

extension Publisher {
    @inline(__always)
    func post(
        _ payload: UnsafeRawBufferPointer, format: UInt8, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        defer { withExtendedLifetime(handle) {} }
        if options.deadline != nil, let observation = LosslessRun.current {
            return try post(payload, format: format, options: options, inside: observation)
        }
        var raw = tidings_post_options(format: format, options)
        var sequence: UInt64 = 0
        let result = tidings_post(self.raw, payload.baseAddress, payload.count, &raw, &sequence)
        guard result == 0 else {
            return try inSuccessor(after: SharedNotificationError(errno: -result)) {
                (publisher) throws(SharedNotificationError) in
                try publisher.post(payload, format: format, options: options)
            }
        }
        return sequence
    }

    /// Where the center has ended and the center object follows its name: does it in the next center.
    @inline(never)
    private func inSuccessor<Result>(
        after error: SharedNotificationError, _ body: (Publisher) throws(SharedNotificationError) -> Result
    ) throws(SharedNotificationError) -> Result {
        var (error, handle) = (error, handle)
        for _ in 0..<CenterLink.attempts {
            guard let ended = handle else { throw error }
            let next = try ended.successor(after: error)
            handle = next
            defer { withExtendedLifetime(next) {} }
            do throws(SharedNotificationError) {
                return try body(Publisher(next, fingerprint: fingerprint).kept.publisher)
            } catch let failure {
                error = failure
            }
        }
        throw error
    }

    /// Posts what is in the reservation, which is used up, also on failure.
    func post(
        _ reservation: inout Reservation, count: Int, format: UInt8, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        defer { withExtendedLifetime(handle) {} }
        if reservation.isProcessMemory {
            let bytes = UnsafeRawBufferPointer(start: reservation.raw.bytes, count: count)
            return try post(bytes, format: format, options: options)
        }
        if options.deadline != nil, let observation = LosslessRun.current {
            // One try uses a reservation up.
            let copy = Array(UnsafeRawBufferPointer(start: reservation.raw.bytes, count: count))
            let span = copy.span.bytes
            return try span.withUnsafeBytes { (bytes) throws(SharedNotificationError) in
                try post(bytes, format: format, options: options, inside: observation)
            }
        }
        var raw = tidings_post_options(format: format, options)
        var sequence: UInt64 = 0
        reservation.isHeld = false
        let result = tidings_post_reserved(self.raw, &reservation.raw, count, &raw, &sequence)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return sequence
    }

    /// How long a post from inside a lossless closure waits before it asks whether it waits for itself: 5 ms, which nobody notices in a
    /// moment when posters are held back anyway.
    private static let slice: Int64 = 5_000_000

    /// Waits until its deadline at most, and only as long as it isn't the observation's own closure that it waits for. Without a payload it clears the
    /// kept value.
    @inline(never)
    private func post(
        _ payload: UnsafeRawBufferPointer?, format: UInt8, options: PostOptions, inside observation: Observation
    ) throws(SharedNotificationError) -> UInt64 {
        var raw = tidings_post_options(format: format, options)
        let asked = raw.deadline_ns
        let begin = Lock.now
        raw.deadline_ns = 0
        while true {
            var sequence: UInt64 = 0
            let result =
                payload.map { tidings_post(self.raw, $0.baseAddress, $0.count, &raw, &sequence) }
                ?? tidings_state_set(self.raw, nil, 0, &raw)
            if result == 0 { return sequence }
            let error = SharedNotificationError(errno: -result)
            guard error.code == .full else {
                return try inSuccessor(after: error) { (publisher) throws(SharedNotificationError) in
                    try publisher.post(payload, format: format, options: options, inside: observation)
                }
            }
            if Self.isHeldBackByThisProcess, observation.standsInItsOwnWay {
                throw SharedNotificationError(
                    .full,
                    message: """
                        can't post from inside a lossless observer's closure: it is itself a whole ring behind, and goes on only when the closure \
                        has returned; post fewer there, or from elsewhere
                        """)
            }
            let spent = Int64(Lock.now - begin)
            if asked >= 0, spent >= asked { throw error }
            raw.deadline_ns = asked < 0 ? Self.slice : min(Self.slice, asked - spent)
        }
    }

    /// After a post that was held back, on its thread: the C library says by whom in its line about that, and nowhere else.
    private static var isHeldBackByThisProcess: Bool {
        String(cString: tidings_last_error()).contains("(process \(getpid()))")
    }

    func clearState(deadline: Duration?) throws(SharedNotificationError) {
        defer { withExtendedLifetime(handle) {} }
        let options = PostOptions(retain: true, deadline: deadline)
        if deadline != nil, let observation = LosslessRun.current {
            _ = try post(nil, format: 0, options: options, inside: observation)
            return
        }
        var raw = tidings_post_options(format: 0, options)
        let result = tidings_state_set(self.raw, nil, 0, &raw)
        guard result == 0 else {
            return try inSuccessor(after: SharedNotificationError(errno: -result)) {
                (publisher) throws(SharedNotificationError) in
                try publisher.clearState(deadline: deadline)
            }
        }
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
