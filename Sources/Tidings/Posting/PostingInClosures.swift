// Posts from a lossless observer's closure: they may wait for the observer itself, which then waits for the closure.

extension Publisher {
    /// Posts. Fails before its timeout if it waits for the observer whose closure makes the post.
    @inline(__always)
    func postUnlessStuck(
        _ payload: UnsafeRawBufferPointer, format: UInt8, flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        if flags.timeout != nil, let observation = LosslessRun.current {
            return try post(payload, format: format, flags: flags, checking: observation.refuseIfStuck)
        }
        return try post(payload, format: format, flags: flags)
    }

    /// Posts with a trace context, as above.
    func postUnlessStuck(
        _ payload: UnsafeRawBufferPointer, format: UInt8, flags: PostFlags, trace: TraceFields?
    ) throws(SharedNotificationError) -> UInt64 {
        let observation = LosslessRun.current
        return try post(payload, format: format, flags: flags, trace: trace) { () throws(SharedNotificationError) in
            try observation?.refuseIfStuck()
        }
    }

    /// Posts the payload in the reservation, as above. The reservation is used up, even on failure.
    func postUnlessStuck(
        _ reservation: inout Reservation, count: Int, format: UInt8, flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        if flags.timeout != nil, let observation = LosslessRun.current {
            // A reservation is used up by one try, and this post may need several.
            let copy = Array(reservation.payload(count))
            let span = copy.span.bytes
            return try span.withUnsafeBytes { (bytes) throws(SharedNotificationError) in
                try post(bytes, format: format, flags: flags, checking: observation.refuseIfStuck)
            }
        }
        return try post(&reservation, count: count, format: format, flags: flags)
    }

    /// Posts the payloads of a batch, as above. An error says how many were posted.
    func postUnlessStuck(_ batch: PayloadBatch, flags: PostFlags) throws(SharedNotificationError) {
        guard flags.timeout != nil, LosslessRun.current != nil else { return try post(batch, flags: flags) }
        try postUnlessStuck(batch, flags: flags, trace: nil)
    }

    /// Posts the payloads of a batch one by one, as above.
    func postUnlessStuck(
        _ batch: PayloadBatch, flags: PostFlags, trace: TraceFields?
    ) throws(SharedNotificationError) {
        let bytes = batch.bytes.span.bytes
        for index in 0..<batch.count {
            do throws(SharedNotificationError) {
                _ = try bytes.withUnsafeBytes { (bytes) throws(SharedNotificationError) in
                    try postUnlessStuck(
                        UnsafeRawBufferPointer(rebasing: bytes[batch.range(index)]), format: batch.format,
                        flags: flags, trace: trace)
                }
            } catch {
                throw SharedNotificationError(error, index, of: batch.count)
            }
        }
    }

    /// Clears the retained value, as above.
    func clearStateUnlessStuck(timeout: Duration?) throws(SharedNotificationError) {
        guard timeout != nil, let observation = LosslessRun.current else { return try clearState(timeout: timeout) }
        let flags = PostFlags(isRetained: true, timeout: timeout)
        _ = try post(nil, format: 0, flags: flags, checking: observation.refuseIfStuck)
    }
}

extension Observation {
    /// Throws if a post that its closure makes waits for the observation itself.
    fileprivate func refuseIfStuck() throws(SharedNotificationError) {
        guard standsInItsOwnWay else { return }
        throw SharedNotificationError(
            .full,
            message: """
                can't post from inside a lossless observer's closure: this observer is a whole ring behind, and goes \
                on only after the closure has returned; post fewer there, or post from another thread
                """)
    }
}
