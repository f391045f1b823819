// Posting, clearing and reading state through the C library.
internal import CTidings
import Glibc

extension Publisher {
    typealias PostFlags = SharedNotificationCenter.PostFlags

    @inline(__always)
    func post(
        _ payload: UnsafeRawBufferPointer, format: UInt8, flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        defer { withExtendedLifetime(handle) {} }
        var raw = tidings_post_options(format: format, flags)
        var sequence: UInt64 = 0
        let result = tidings_post(self.raw, payload.baseAddress, payload.count, &raw, &sequence)
        guard result == 0 else {
            return try inSuccessor(after: SharedNotificationError(errno: -result)) {
                (publisher) throws(SharedNotificationError) in
                try publisher.post(payload, format: format, flags: flags)
            }
        }
        return sequence
    }

    /// Posts the payloads of a batch, from payload `first` on. An error says how many of the batch were posted.
    func post(_ batch: PayloadBatch, from first: Int = 0, flags: PostFlags) throws(SharedNotificationError) {
        defer { withExtendedLifetime(handle) {} }
        var raw = tidings_post_options(format: batch.format, flags)
        var posted = 0
        let result = batch.bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: tidings_payload.self, capacity: batch.count - first) { payloads in
                for index in first..<batch.count {
                    let payload = UnsafeRawBufferPointer(rebasing: bytes[batch.range(index)])
                    payloads.initializeElement(
                        at: index - first, to: tidings_payload(bytes: payload.baseAddress, size: payload.count))
                }
                return tidings_post_many(self.raw, payloads.baseAddress, payloads.count, &raw, &posted, nil)
            }
        }
        guard result != 0 else { return }
        let error = SharedNotificationError(SharedNotificationError(errno: -result), first + posted, of: batch.count)
        var next = error.postedCount
        try inSuccessor(after: error) { (publisher) throws(SharedNotificationError) in
            do throws(SharedNotificationError) {
                try publisher.post(batch, from: next, flags: flags)
            } catch {
                next = error.postedCount
                throw error
            }
        }
    }

    /// Does the same in the next center, if the center has ended and the center object follows its name.
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

    /// Posts the payload in the reservation. The reservation is used up, even on failure.
    func post(
        _ reservation: inout Reservation, count: Int, format: UInt8, flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        defer { withExtendedLifetime(handle) {} }
        if reservation.isProcessMemory {
            return try post(reservation.payload(count), format: format, flags: flags)
        }
        var raw = tidings_post_options(format: format, flags)
        var sequence: UInt64 = 0
        reservation.isHeld = false
        let result = tidings_post_reserved(self.raw, &reservation.raw, count, &raw, &sequence)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return sequence
    }

    /// How long a post waits between two calls of its check, in nanoseconds. 5 ms is negligible while posters are held
    /// back anyway.
    private static let slice: Int64 = 5_000_000

    /// Posts, and waits until its timeout at most. While an observer of this process holds the post back, calls `check`
    /// every 5 ms, and fails with the error of `check`. Without a payload it clears the retained value.
    @inline(never)
    func post(
        _ payload: UnsafeRawBufferPointer?, format: UInt8, flags: PostFlags, trace: TraceFields? = nil,
        checking check: () throws(SharedNotificationError) -> Void
    ) throws(SharedNotificationError) -> UInt64 {
        defer { withExtendedLifetime(handle) {} }
        var raw = tidings_post_options(format: format, flags)
        let sections = trace.map { raw.addSections($0) }
        defer { sections?.deallocate() }
        let asked = raw.timeout_ns
        let begin = Lock.now
        raw.timeout_ns = 0
        while true {
            var sequence: UInt64 = 0
            let result =
                payload.map { tidings_post(self.raw, $0.baseAddress, $0.count, &raw, &sequence) }
                ?? tidings_state_set(self.raw, nil, 0, &raw, nil)
            if result == 0 { return sequence }
            let error = SharedNotificationError(errno: -result)
            guard error.code == .full else {
                return try inSuccessor(after: error) { (publisher) throws(SharedNotificationError) in
                    try publisher.post(payload, format: format, flags: flags, trace: trace, checking: check)
                }
            }
            if Self.isHeldBackByThisProcess { try check() }
            let spent = Int64(Lock.now - begin)
            if asked >= 0, spent >= asked { throw error }
            raw.timeout_ns = asked < 0 ? Self.slice : min(Self.slice, asked - spent)
        }
    }

    /// Call after a post that was held back, on its thread.
    private static var isHeldBackByThisProcess: Bool {
        var holder = tidings_holder()
        return tidings_last_error_holder(&holder) == 0 && holder.own
    }

    func clearState(timeout: Duration?) throws(SharedNotificationError) {
        defer { withExtendedLifetime(handle) {} }
        var raw = tidings_post_options(format: 0, PostFlags(isRetained: true, timeout: timeout))
        let result = tidings_state_set(self.raw, nil, 0, &raw, nil)
        guard result == 0 else {
            return try inSuccessor(after: SharedNotificationError(errno: -result)) {
                (publisher) throws(SharedNotificationError) in
                try publisher.clearState(timeout: timeout)
            }
        }
    }

    /// The position of the retained value; `nil` if there is none, or a larger one.
    func statePosition(atMost most: Int) -> UInt64? {
        defer { withExtendedLifetime(handle) {} }
        var (size, sequence) = (0, UInt64(0))
        let result = tidings_state_get(raw, nil, &size, nil, &sequence)
        return (result == 0 || result == -ENOBUFS) && size <= most ? sequence : nil
    }

    /// The retained value: format, bytes and position; `nil` if there is none.
    func state() throws(SharedNotificationError) -> (format: UInt8, bytes: [UInt8], sequence: UInt64)? {
        defer { withExtendedLifetime(handle) {} }
        var capacity = 1024
        while true {
            var size = capacity
            var format: UInt8 = 0
            var sequence: UInt64 = 0
            var result: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                result = tidings_state_get(raw, buffer.baseAddress, &size, &format, &sequence)
                count = result == 0 ? min(size, capacity) : 0
            }
            switch -result {
            case 0: return (format, bytes, sequence)
            case ENOENT: return nil
            // `size` is the size needed now. A larger value may have come before the next try.
            case ENOBUFS: capacity = max(size, 2 * capacity)
            case let code: throw SharedNotificationError(errno: code)
            }
        }
    }
}

extension tidings_post_options {
    @inline(__always)
    fileprivate init(format: UInt8, _ post: SharedNotificationCenter.PostFlags) {
        self.init()
        self.format = format
        // The bits are TIDINGS_POST_RETAIN and TIDINGS_POST_IMMEDIATE (`PostOptionsTests`).
        flags = post.bits
        // A duration that does not fit means to wait without end.
        if let nanoseconds = post.timeout?.nanoseconds { timeout_ns = nanoseconds == .max ? -1 : nanoseconds }
    }
}
