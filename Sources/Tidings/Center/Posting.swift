// Posting a message, and posting bytes that are already encoded.
extension SharedNotificationCenter {
    /// Posts a message to all observers of its name, in all processes.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// try center.post(TrackChanged(title: "So What"))
    /// try center.post(TrackChanged(title: "So What"), subject: "player-1")
    /// try center.post(TrackChanged(title: "So What"), retain: true)
    /// ```
    ///
    /// Promise: never waits for another process, unless a lossless observer is a whole ring behind and a deadline was
    /// given. On failure nothing was posted. May be called from any thread and any task, also inside an observer's
    /// closure.
    ///
    /// - Parameters:
    ///   - message: encoded as its type says (``Message/encoding``), at most the center's maximum payload size.
    ///   - subject: what the message is about, 1 to 255 bytes of UTF-8. Observers can ask for one subject only.
    ///   - retain: keeps the message for observers that register later, until the next retained one of the same name. A
    ///     name has one value, without a subject: `.invalidArgument` with both.
    ///   - deadline: how long a lossless observer may hold this post back. `nil`: not at all.
    /// - Returns: its position in the center's order.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed`, `.payloadTooLarge`, `.noSpace`,
    ///   `.full`, `.removed`, `.notPermitted` (the center was opened for reading alone), `.invalidArgument` (retained,
    ///   with a subject).
    @discardableResult
    @inlinable
    public func post<M: Message>(
        _ message: M, subject: String? = nil, retain: Bool = false, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        // If the compiler specialises a caller's generic code, the type is known here, and a bitwise value takes the
        // fast path.
        guard case .bitwise = M.encoding.kind else {
            return try postAsEncoded(message, subject: subject, retain: retain, deadline: deadline)
        }
        return try withUnsafeBytes(of: message) { (value) throws(SharedNotificationError) in
            try postBitwise(value: value, of: M.self, subject: subject, retain: retain, deadline: deadline)
        }
    }

    /// Posts a message that travels as its bytes in memory.
    ///
    /// It is posted like any other message, and faster where the compiler knows the type.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.BitwiseMessage { var x, y: Double }
    /// try SharedNotificationCenter.default.post(Moved(x: 1, y: 2))
    /// ```
    ///
    /// - Returns: its position in the center's order.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`,
    ///   `.notPermitted`; and `.encodingFailed` if the type has chosen another ``Message/encoding``.
    @discardableResult
    @inlinable
    public func post<M: BitwiseMessage>(
        _ message: M, subject: String? = nil, retain: Bool = false, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        // A bitwise type can still declare another encoding.
        guard case .bitwise = M.encoding.kind else {
            return try postAsEncoded(message, subject: subject, retain: retain, deadline: deadline)
        }
        return try withUnsafeTemporaryAllocation(byteCount: 8 + MemoryLayout<M>.size, alignment: 16) {
            (room) throws(SharedNotificationError) in
            room.storeBytes(of: message, toByteOffset: 8, as: M.self)
            return try postBitwise(room, of: M.self, subject: subject, retain: retain, deadline: deadline)
        }
    }

    @usableFromInline
    func postAsEncoded<M: Message>(
        _ message: M, subject: String?, retain: Bool, deadline: Duration?
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(message, subject: subject, options: PostOptions(retain: retain, deadline: deadline))
    }

    @usableFromInline
    func postBitwise(
        value: UnsafeRawBufferPointer, of type: any Message.Type, subject: String?, retain: Bool, deadline: Duration?
    ) throws(SharedNotificationError) -> UInt64 {
        try withUnsafeTemporaryAllocation(byteCount: PayloadCoding.fingerprintSize + value.count, alignment: 16) {
            (room) throws(SharedNotificationError) in
            UnsafeMutableRawBufferPointer(rebasing: room[PayloadCoding.fingerprintSize...]).copyMemory(from: value)
            return try postBitwise(room, of: type, subject: subject, retain: retain, deadline: deadline)
        }
    }

    /// The part of posting that does not depend on the type. The value's bytes begin at the ninth byte of `room`.
    @usableFromInline
    func postBitwise(
        _ room: UnsafeMutableRawBufferPointer, of type: any Message.Type, subject: String?, retain: Bool,
        deadline: Duration?
    ) throws(SharedNotificationError) -> UInt64 {
        // The cache closes its publishers when it is released, so it must live until the post is done.
        defer { withExtendedLifetime(self) {} }
        return try core.postBitwise(
            room, to: try core.publishers.publisher(for: type, subject: subject),
            options: PostOptions(retain: retain, deadline: deadline))
    }

    /// Posts bytes that are encoded already, under a name.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// // decodes as a message of that name
    /// try center.post(name: "com.example.trackChanged", payload: .json(#"{"title":"So What"}"#))
    /// try center.post(name: "com.example.cache.flush", payload: .empty)
    /// ```
    ///
    /// Promise: as for a message.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - payload: delivered to observers unchanged, at most the center's maximum payload size. Its format is not
    ///     checked.
    ///   - subject: as in `post(_:subject:retain:deadline:)`.
    ///   - retain: as in `post(_:subject:retain:deadline:)`.
    ///   - deadline: as in `post(_:subject:retain:deadline:)`.
    /// - Returns: its position in the center's order.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`,
    ///   `.notPermitted`.
    @discardableResult
    public func post(
        name: Name, payload: RawPayload, subject: String? = nil, retain: Bool = false, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(
            payload, name: name, subject: subject, options: PostOptions(retain: retain, deadline: deadline))
    }
}
