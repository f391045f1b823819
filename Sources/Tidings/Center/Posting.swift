// Posting a message, a key's arguments, a name alone, bytes that are already encoded, and bytes built in place.
extension SharedNotificationCenter {
    /// Posts a message to all observers of its name, in all processes.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// try center.post(TrackChanged(title: "So What"))
    /// try center.post(TrackChanged(title: "So What"), options: .init(subject: "player-1"))
    /// try center.post(TrackChanged(title: "So What"), options: .init(retain: true))
    /// ```
    ///
    /// Promise: never waits for another process, unless a lossless observer is a whole ring behind and a timeout was
    /// given. If the center has ended and this object follows its name, the post opens the next center, which may wait
    /// as ``init(named:configuration:)`` does. On failure nothing was posted. May be called from any thread and any
    /// task, also inside an observer's closure. The call does not return the position in the center's order;
    /// ``post(name:payload:options:)`` does.
    ///
    /// - Parameters:
    ///   - message: encoded as its type says (``Message/encoding``), at most the center's maximum payload size.
    ///   - options: the subject, whether the message is retained, and the timeout.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed`, `.payloadTooLarge`, `.noSpace`,
    ///   `.full`, `.removed`, `.notPermitted` (the center was opened for reading alone), `.invalidArgument` (retained,
    ///   with a subject).
    @inlinable
    public func post<M: Message>(_ message: M, options: PostOptions = PostOptions()) throws(SharedNotificationError) {
        let (subject, flags) = (options.subject, options.flags)
        // Where the compiler knows the type, only one of the two paths remains.
        guard case .bitwise = M.encoding.kind else { return try postAsEncoded(message, subject: subject, flags) }
        try withUnsafeTemporaryAllocation(byteCount: 8 + MemoryLayout<M>.size, alignment: 16) {
            (room) throws(SharedNotificationError) in
            withUnsafeBytes(of: message) { UnsafeMutableRawBufferPointer(rebasing: room[8...]).copyMemory(from: $0) }
            try postBitwise(room, of: M.self, subject: subject, flags)
        }
    }

    /// Posts messages of one type in their order, at a lower price than one by one.
    ///
    /// ```swift
    /// struct Sample: SharedNotificationCenter.BitwiseMessage { var value: Double }
    /// let samples = (0..<1000).map { Sample(value: Double($0)) }
    /// do {
    ///     try SharedNotificationCenter.default.post(contentsOf: samples)
    /// } catch {
    ///     print(samples[error.postedCount...].count, "samples are left:", error)
    /// }
    /// ```
    ///
    /// Promise: as for each message alone, `post(_:options:)`. Each has its own position in the center's order,
    /// and observers receive it as soon as it is posted. Messages of other threads and processes may stand between two
    /// of them. All are encoded before the first one is posted, so the call needs memory for all payloads. Up to 256
    /// of them have one time (``Envelope/postedAt``).
    ///
    /// - Parameters:
    ///   - messages: encoded as their type says. None: nothing is posted.
    ///   - options: those of each post. The timeout begins anew for each.
    /// - Throws: as for a message, `post(_:options:)`. The first ``SharedNotificationError/postedCount`` messages were
    ///   posted. If the encoding of one fails, none was.
    public func post<M: Message>(
        contentsOf messages: some Sequence<M>, options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) {
        try posting.post(contentsOf: messages, subject: options.subject, options.flags)
    }

    /// What is not a message can't be posted as one.
    @available(
        *, unavailable, message: "not a message: declare the type as 'struct Name: SharedNotificationCenter.Message'"
    )
    @_disfavoredOverload
    public func post<Value>(_ value: Value, options: PostOptions = PostOptions()) {}

    /// Posts a key's arguments to all observers of its name, in all processes.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// try SharedNotificationCenter.default.post(progress, 42, "decoding", options: .init(retain: true))
    /// ```
    ///
    /// Promise and options: as for a message. The arguments are encoded as one CBOR array, at most the center's maximum
    /// payload size.
    ///
    /// - Throws: as for a message, `post(_:options:)`.
    public func post<each Argument>(
        _ key: Key<repeat each Argument>, _ arguments: repeat each Argument, options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) {
        _ = try posting.post(
            encoding: PostedArguments(values: (repeat each arguments)), name: key.name, subject: options.subject,
            as: PostedArguments<repeat each Argument>.self, options.flags)
    }

    /// Posts a name, without a payload or with bytes that are already encoded.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", options: .init(subject: "player-1"))
    /// let position = try center.post(name: "com.example.track", payload: .json(#"{"title": "So What"}"#))
    /// ```
    ///
    /// Promise: as for a message. The module `TidingsFoundation` posts a name with a dictionary
    /// (`post(name:userInfo:options:)`), as `DistributedNotificationCenter` does.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - payload: delivered to observers unchanged, at most the center's maximum payload size. Its format is not
    ///     checked.
    ///   - options: the subject (a ``Notification/object``), whether the notification is retained, and the timeout.
    /// - Returns: its position in the center's order.
    /// - Throws: as for a message, `post(_:options:)`, without `.encodingFailed`.
    @discardableResult
    public func post(
        name: Name, payload: RawPayload = .empty, options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) -> UInt64 {
        try posting.post(payload, name: name, subject: options.subject, options.flags)
    }

    /// Posts a payload that a closure builds in place: in the center's memory, without a copy.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.frame", capacity: 640 * 480 * 4) { output in
    ///     output.append(repeating: 0xFF00_0000, count: 640 * 480, as: UInt32.self)
    /// }
    /// ```
    ///
    /// Promise: as for a message. No other process waits for the closure: the notification takes its position in the
    /// order after the closure has returned. If the process dies in the closure, nothing was posted, and the memory is
    /// reclaimed with its participant. If it is stopped there, only the memory stays taken. The compiler refuses a
    /// closure that keeps the output. A payload that fits a slot is copied into it. A payload is also copied once in
    /// three cases: this object follows its name (``Configuration-swift.struct/followsName``); the post has a timeout,
    /// and the center has no memory at once; or a lossless observer's closure posts the payload with a timeout.
    ///
    /// The closure runs once, on the caller's thread and in its isolation, and may use this object. The call does not
    /// check for cancellation; the closure can, and can throw. A child process that is forked in the closure can't
    /// post the payload (`.invalidArgument`); the parent can.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - format: tells observers what the bytes are; they are not checked. An observer of a ``BytesMessage`` of this
    ///     name decodes ``PayloadFormat/bytes``.
    ///   - capacity: how many bytes the closure can append, at most the center's maximum payload size. If this object
    ///     follows its name, the size of the built payload is checked in its place, after the closure.
    ///   - options: the subject, whether the notification is retained, and the timeout, which begins after the closure.
    ///   - build: appends the payload. The payload is what it has appended, from zero bytes to `capacity`; one byte
    ///     more traps. The first byte is aligned for elements of up to 16 bytes. Bytes that pad an element are posted
    ///     too. The memory is shared: do not rely on bytes that you read back, because another writer of the center can
    ///     change them.
    /// - Returns: its position in the center's order.
    /// - Throws: as for a message, `post(_:options:)`; nothing was posted, and the memory is free again. An error of
    ///   the closure is the `underlyingError` of `.encodingFailed`, unless it is a ``SharedNotificationError``: that is
    ///   thrown unchanged. `.invalidArgument` also: the capacity is negative. `.payloadTooLarge` names the center's
    ///   maximum. Before the closure runs: these two, `.invalidName`, `.notPermitted`, `.noSpace`, and, without a
    ///   timeout, `.full` if all memory that is large enough is in use.
    @discardableResult
    public func post(
        name: Name, format: PayloadFormat = .bytes, capacity: Int, options: PostOptions = PostOptions(),
        building build: (inout OutputRawSpan) throws -> Void
    ) throws(SharedNotificationError) -> UInt64 {
        try posting.post(format, capacity: capacity, name: name, subject: options.subject, options.flags, build)
    }

    /// Gives this object's posts their trace context; `nil` (the default): they have none, and cost nothing more.
    /// Requests and cleared values have none. In a forked child it is `nil`. Each change keeps the open publishers.
    package var postTracer: PostTracer? {
        get { posting.publishers.tracer }
        set { posting.publishers.tracer = newValue }
    }

    /// As `post(_:options:)`. Returns the position.
    package func positionOfPost<M: Message>(_ message: M) throws(SharedNotificationError) -> UInt64 {
        try posting.post(message, subject: nil, PostFlags())
    }

    /// Posts a value as CBOR. Returns the position.
    ///
    /// - Parameter type: the type that the name is meant for; `nil`: the name is not meant for one type.
    package func post<Value: Encodable>(
        encoding value: Value, name: Name, as type: Any.Type? = nil, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        try posting.post(encoding: value, name: name, subject: options.subject, as: type, options.flags)
    }

    @usableFromInline
    func postAsEncoded<M: Message>(_ message: M, subject: String?, _ flags: PostFlags) throws(SharedNotificationError) {
        _ = try posting.post(message, subject: subject, flags)
    }

    @usableFromInline
    func postBitwise(
        _ room: UnsafeMutableRawBufferPointer, of type: any Message.Type, subject: String?, _ flags: PostFlags
    ) throws(SharedNotificationError) {
        // The cache closes its publishers when it is released, so it must live until the post is done.
        defer { withExtendedLifetime(self) {} }
        if subject == nil, let publisher = posting.publishers.known(type) {
            _ = try posting.postBitwise(room, to: publisher, flags)
        } else {
            try postBitwiseAnew(room, of: type, subject: subject, flags)
        }
    }

    /// A function of its own, so that the one above counts no reference and saves no arguments for a trace context.
    @inline(never)
    private func postBitwiseAnew(
        _ room: UnsafeMutableRawBufferPointer, of type: any Message.Type, subject: String?, _ flags: PostFlags
    ) throws(SharedNotificationError) {
        do {
            let publisher = try posting.publishers.publisher(for: type, subject: subject)
            _ = try posting.postBitwise(room, to: publisher, flags)
        } catch {
            room.storeBytes(of: PayloadCoding.fingerprint(of: type).littleEndian, as: UInt64.self)
            let payload = RawPayload(format: .bitwise, bytes: Array(room))
            _ = try posting.traced(error, type.name, subject, as: type, flags, payload)
        }
    }
}

extension SharedNotificationCenter {
    /// Posts as soon as no lossless observer holds the post back, without blocking a thread.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// try await center.waitingForRoom(timeout: .seconds(1)) { try $0.post(TrackChanged(title: "So What")) }
    /// ```
    ///
    /// Promise: calls `post` at once, and again after pauses of 1 to 10 ms while it throws `.full`. In a pause the task
    /// sleeps, and its thread is free. Works with every function that posts or sets a state. Give these no timeout:
    /// they block their thread for it. Posters that wait here have no order among themselves, nor among those that wait
    /// in a post with a timeout.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for room. Zero or less: `post` is called once.
    ///   - isolation: the actor that `post` runs on; by default the caller's.
    ///   - post: what to post with this center. If it throws `.full`, it must not have posted anything, because it is
    ///     called again. (`post(contentsOf:options:)` may have posted the first messages.)
    /// - Returns: what `post` returns.
    /// - Throws: `CancellationError` if the task is cancelled before `post` succeeds: nothing was posted. Otherwise the
    ///   error of `post`; ``SharedNotificationError`` with the code `.full` if there is no room until the timeout.
    public func waitingForRoom<Result>(
        timeout: Duration, isolation: isolated (any Actor)? = #isolation,
        _ post: (SharedNotificationCenter) throws -> Result
    ) async throws -> Result {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(1)
        while true {
            try Task.checkCancellation()
            do {
                return try post(self)
            } catch let error as SharedNotificationError where error.code == .full {
                guard start.duration(to: .now) < timeout else { throw error }
            }
            try await Task.sleep(for: min(pause, timeout - start.duration(to: .now)))
            pause = min(pause * 2, .milliseconds(10))
        }
    }
}
