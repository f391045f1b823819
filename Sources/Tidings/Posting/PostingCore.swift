// Posting and state of a center object: encodes a value and passes its bytes to the C library.
import TidingsCoding

/// The parts of a center object that its posts share.
final class PostingCore: Sendable {
    let publishers: PublisherCache
    /// For posts with a trace context, and for state: it never has a tracer.
    private let others: PublisherCache
    let diagnostics: Diagnostics
    private let link: CenterLink
    private let largePosts: LargePosts

    init(_ core: CenterCore) {
        link = core.link
        diagnostics = core.diagnostics
        largePosts = LargePosts(diagnostics)
        publishers = PublisherCache(link: link, types: core.types)
        others = PublisherCache(link: link, types: core.types)
    }

    typealias Message = SharedNotificationCenter.Message
    typealias PostFlags = SharedNotificationCenter.PostFlags
    typealias Name = SharedNotificationCenter.Name
    typealias RawPayload = SharedNotificationCenter.RawPayload

    func post<M: Message>(
        _ message: M, subject: String?, _ flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        // The cache closes its publishers when it is released, so it must live until the post is done.
        defer { withExtendedLifetime(self) {} }
        let publisher: Publisher
        do { publisher = try publishers.publisher(for: M.self, subject: subject) } catch {
            return try traced(error, M.name, subject, as: M.self, flags, try payload(of: message))
        }
        switch M.encoding.kind {
        case .cbor:
            return try postCBOR(to: publisher, flags, what: M.name) { try PayloadCoding.encode(message, into: &$0) }
        case .bitwise:
            return try withUnsafeBytes(of: message) { (value) throws(SharedNotificationError) in
                try postBitwise(value: value, to: publisher, flags)
            }
        case .json, .custom:
            return try post(try payload(of: message), M.name, to: publisher, flags)
        }
    }

    /// Posts messages after it has encoded all of them.
    func post<M: Message>(
        contentsOf messages: some Sequence<M>, subject: String?, _ flags: PostFlags
    ) throws(SharedNotificationError) {
        // The cache closes its publishers when it is released, so it must live until the posts are done.
        defer { withExtendedLifetime(self) {} }
        let batch: PayloadBatch
        do {
            batch = try PayloadBatch(encoding: messages)
        } catch let error as SharedNotificationError {
            // Without the count of another batch, which an encoder may have posted: of this one nothing is.
            throw SharedNotificationError(error.code, message: error.message, underlyingError: error.underlyingError)
        } catch {
            throw encodingFailed(M.name, error)
        }
        if (0..<batch.count).contains(where: { batch.range($0).count >= LargePosts.size }) { largePosts.note(M.name) }
        let publisher: Publisher
        do { publisher = try publishers.publisher(for: M.self, subject: subject) } catch {
            let (publisher, trace) = try traced(error, M.name, subject, as: M.self)
            return try publisher.postUnlessStuck(batch, flags: flags, trace: trace)
        }
        try publisher.postUnlessStuck(batch, flags: flags)
    }

    func post(
        _ payload: RawPayload, name: Name, subject: String?, as type: Any.Type? = nil, _ flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        do {
            return try post(payload, name, to: try publishers.publisher(for: name, subject: subject, as: type), flags)
        } catch { return try traced(error, name, subject, as: type, flags, payload) }
    }

    /// Posts a value under a name, as CBOR.
    ///
    /// - Parameter type: the type that the name is meant for; `nil`: the name is not meant for one type.
    func post<Value: Encodable>(
        encoding value: Value, name: Name, subject: String?, as type: Any.Type? = nil, _ flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        // Keeps the publishers open until the post is done.
        defer { withExtendedLifetime(self) {} }
        do {
            let publisher = try publishers.publisher(for: name, subject: subject, as: type)
            return try postCBOR(to: publisher, flags, what: name) { try CBORPayloadEncoder().encode(value, into: &$0) }
        } catch { return try traced(error, encoding: value, name, subject, as: type, flags) }
    }

    /// The payload of a post that is not encoded in place.
    func payload<M: Message>(of message: M) throws(SharedNotificationError) -> RawPayload {
        do { return try RawPayload(inItsEncoding: message) } catch { throw encodingFailed(M.name, error) }
    }

    func payload<Value: Encodable>(of value: Value, name: Name) throws(SharedNotificationError) -> RawPayload {
        do { return try RawPayload(encoding: value) } catch { throw encodingFailed(name, error) }
    }

    // MARK: Trace context

    /// Posts with a trace context what found no publisher for that reason (`.untraced`). Throws any other error.
    @inline(never)
    func traced(
        _ error: SharedNotificationError, _ name: Name, _ subject: String?, as type: Any.Type? = nil,
        _ flags: PostFlags, _ payload: @autoclosure () throws(SharedNotificationError) -> RawPayload
    ) throws(SharedNotificationError) -> UInt64 {
        let (publisher, trace) = try traced(error, name, subject, as: type)
        return try post(try payload(), name, to: publisher, flags, trace)
    }

    private func post(
        _ payload: RawPayload, _ name: Name, to publisher: Publisher, _ flags: PostFlags, _ trace: TraceFields?
    ) throws(SharedNotificationError) -> UInt64 {
        if payload.count >= LargePosts.size { largePosts.note(name) }
        return try payload.withBytes { (span) throws(SharedNotificationError) in
            try span.withUnsafeBytes { (bytes) throws(SharedNotificationError) in
                try publisher.postUnlessStuck(bytes, format: payload.format.rawValue, flags: flags, trace: trace)
            }
        }
    }

    @inline(never)
    private func traced(
        _ error: SharedNotificationError, encoding value: some Encodable, _ name: Name, _ subject: String?,
        as type: Any.Type?, _ flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        try traced(error, name, subject, as: type, flags, try payload(of: value, name: name))
    }

    @inline(never)
    private func traced(
        _ error: SharedNotificationError, _ name: Name, _ subject: String?, as type: Any.Type?
    ) throws(SharedNotificationError) -> (Publisher, TraceFields?) {
        guard error.code == .untraced else { throw error }
        // Without a tracer, the program has just removed it.
        let trace = publishers.tracer?(name)
        return (try others.publisher(for: name, subject: subject, as: type), trace)
    }

    /// Posts what waited, with the trace context of the call that deferred it.
    func post(_ pending: DeferredPosts.Pending) throws(SharedNotificationError) {
        let publisher = try others.publisher(for: pending.name, subject: pending.subject, as: pending.type)
        _ = try post(pending.payload, pending.name, to: publisher, pending.flags, pending.trace)
    }

    // MARK: State

    func state<M: Message>(message: M.Type) throws(SharedNotificationError) -> M? {
        // The cache closes its publishers when it is released, so it must live until the state is read.
        defer { withExtendedLifetime(self) {} }
        link.lookAgain()
        return try state(of: try others.publisher(for: M.self, subject: nil), M.name) {
            try PayloadCoding.message(M.self, format: $0, bytes: $1)
        }
    }

    func rawState(name: Name) throws(SharedNotificationError) -> (payload: RawPayload, sequence: UInt64)? {
        link.lookAgain()
        guard let (format, bytes, sequence) = try others.publisher(for: name, subject: nil).state() else { return nil }
        return (RawPayload(format: PayloadCoding.Format(rawValue: format), bytes: bytes), sequence)
    }

    func clearState(name: Name, timeout: Duration? = nil) throws(SharedNotificationError) {
        try others.publisher(for: name, subject: nil).clearStateUnlessStuck(timeout: timeout)
    }

    /// - Parameters:
    ///   - type: the one type that is read there; `nil`: values of any type.
    ///   - posted: the type that a key's arguments are posted as.
    ///   - needed: how many arguments a payload must have.
    func state<Value>(
        name: Name, as type: Any.Type? = nil, posted: Any.Type? = nil, needed: @autoclosure () -> Int? = nil,
        decode: (UInt8, UnsafeRawBufferPointer) throws -> Value
    ) throws(SharedNotificationError) -> Value? {
        link.lookAgain()
        let publisher = try others.publisher(for: name, subject: nil, as: type, posted: posted, needed: needed())
        return try state(of: publisher, name, decode: decode)
    }

    private func state<Value>(
        of publisher: Publisher, _ name: Name, decode: (UInt8, UnsafeRawBufferPointer) throws -> Value
    ) throws(SharedNotificationError) -> Value? {
        guard let (format, bytes, _) = try publisher.state() else { return nil }
        do {
            return try bytes.withUnsafeBytes { try decode(format, $0) }
        } catch {
            throw decodingFailed(name, as: Value.self, error)
        }
    }

    func decodingFailed(_ name: Name, as type: Any.Type, _ error: any Error) -> SharedNotificationError {
        SharedNotificationError(
            .decodingFailed,
            message: "can't decode the state \"\(name)\" of center \"\(link.name)\" as \(type): \(error)",
            underlyingError: error)
    }

    // MARK: Bytes

    /// Bytes on the stack for encoding; a larger payload continues in shared memory. 1 KiB: a payload above that is
    /// much larger than a slot, so no payload is copied twice.
    private static let scratchSize = 1024

    /// Encodes straight into the memory that is posted. The position is claimed only after the encoder, because the
    /// encoder is user code.
    @inline(__always)
    private func postCBOR(
        to publisher: Publisher, _ flags: PostFlags, what: @autoclosure () -> Name,
        encode: (inout PayloadBuffer) throws -> Void
    ) throws(SharedNotificationError) -> UInt64 {
        try withUnsafeTemporaryAllocation(byteCount: Self.scratchSize, alignment: 16) {
            (scratch) throws(SharedNotificationError) in
            var reservation = Reservation(link: link, hasTimeout: flags.timeout != nil, after: scratch)
            return try withUnsafeMutablePointer(to: &reservation) { (reservation) throws(SharedNotificationError) in
                var buffer = PayloadBuffer(scratch, owner: reservation)
                do { try encode(&buffer) } catch {
                    throw error as? SharedNotificationError ?? encodingFailed(what(), error)
                }
                let format = PayloadCoding.Format.cbor.rawValue
                if reservation.pointee.isHeld {
                    if buffer.count >= LargePosts.size { largePosts.note(what()) }
                    return try publisher.postUnlessStuck(
                        &reservation.pointee, count: buffer.count, format: format, flags: flags)
                }
                return try publisher.postUnlessStuck(
                    UnsafeRawBufferPointer(rebasing: scratch[..<buffer.count]), format: format, flags: flags)
            }
        }
    }

    /// Posts what `build` appends to memory that is posted. The position is claimed only after `build`, because that is
    /// user code.
    func post(
        _ format: PayloadCoding.Format, capacity: Int, name: Name, subject: String?, _ flags: PostFlags,
        _ build: (inout OutputRawSpan) throws -> Void
    ) throws(SharedNotificationError) -> UInt64 {
        guard capacity >= 0 else {
            throw SharedNotificationError(
                .invalidArgument,
                message: """
                    can't post "\(name)" to center "\(link.name)" with a capacity of \(capacity) bytes; pass 0 or more
                    """)
        }
        // Keeps the link open, and the publishers.
        defer { withExtendedLifetime(self) {} }
        let publisher: Publisher
        do { publisher = try publishers.publisher(for: name, subject: subject) } catch {
            return try traced(error, name, subject, flags, try built(format, capacity: capacity, name, build))
        }
        var reservation = Reservation(link: link, hasTimeout: flags.timeout != nil)
        let memory = UnsafeMutableRawBufferPointer(
            rebasing: try reservation.grow(used: 0, needed: capacity)[..<capacity])
        var output = OutputRawSpan(buffer: memory, initializedCount: 0)
        do { try build(&output) } catch { throw error as? SharedNotificationError ?? encodingFailed(name, error) }
        let count = output.finalize(for: memory)
        if count >= LargePosts.size { largePosts.note(name) }
        return try publisher.postUnlessStuck(&reservation, count: count, format: format.rawValue, flags: flags)
    }

    func postBitwise(
        value: UnsafeRawBufferPointer, to publisher: Publisher, _ flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        try withUnsafeTemporaryAllocation(byteCount: PayloadCoding.fingerprintSize + value.count, alignment: 16) {
            (room) throws(SharedNotificationError) in
            UnsafeMutableRawBufferPointer(rebasing: room[PayloadCoding.fingerprintSize...]).copyMemory(from: value)
            return try postBitwise(room, to: publisher, flags)
        }
    }

    /// - Parameter room: space for the fingerprint, followed by the value.
    @inline(__always)
    func postBitwise(
        _ room: UnsafeMutableRawBufferPointer, to publisher: Publisher, _ flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        room.storeBytes(of: publisher.fingerprint.littleEndian, as: UInt64.self)
        return try publisher.postUnlessStuck(
            UnsafeRawBufferPointer(room), format: PayloadCoding.Format.bitwise.rawValue, flags: flags)
    }

    /// What `build` appends, in the process's memory.
    private func built(
        _ format: PayloadCoding.Format, capacity: Int, _ name: Name, _ build: (inout OutputRawSpan) throws -> Void
    ) throws(SharedNotificationError) -> RawPayload {
        do {
            let bytes = try [UInt8](unsafeUninitializedCapacity: capacity) { memory, count in
                let memory = UnsafeMutableRawBufferPointer(memory)
                var output = OutputRawSpan(buffer: memory, initializedCount: 0)
                try build(&output)
                count = output.finalize(for: memory)
            }
            return RawPayload(format: format, bytes: bytes)
        } catch { throw error as? SharedNotificationError ?? encodingFailed(name, error) }
    }

    private func post(
        _ payload: RawPayload, _ name: @autoclosure () -> Name, to publisher: Publisher, _ flags: PostFlags
    ) throws(SharedNotificationError) -> UInt64 {
        if payload.count >= LargePosts.size { largePosts.note(name()) }
        return try payload.withBytes { (span) throws(SharedNotificationError) in
            // Not the array's `withUnsafeBytes`: that loses the error's type.
            try span.withUnsafeBytes { (bytes) throws(SharedNotificationError) in
                try publisher.postUnlessStuck(bytes, format: payload.format.rawValue, flags: flags)
            }
        }
    }

    private func encodingFailed(_ name: Name, _ error: any Error) -> SharedNotificationError {
        SharedNotificationError(
            .encodingFailed, message: "can't post \"\(name)\" to center \"\(link.name)\": its encoder failed: \(error)",
            underlyingError: error)
    }
}
