extension SharedNotificationCenter {
    /// Posts a message to all observers of its name, in all processes.
    ///
    /// Promise: never waits for another process, unless a lossless observer is a whole ring behind and a deadline was given. On
    /// failure nothing was posted. May be called from any thread and any task, also inside an observer's closure.
    ///
    /// - Parameters:
    ///   - message: encoded as its type says (``Message/encoding``), at most the center's maximum payload size.
    ///   - subject: whom or what it is about, 1 to 255 bytes of UTF-8; observers can ask for one subject only.
    ///   - retain: keep it for those who register later, until the next retained one of the same name (and subject).
    ///   - deadline: how long a lossless observer may hold this post back. `nil` is not at all.
    /// - Returns: its place in the center's order.
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`,
    ///   `.invalidName`.
    @discardableResult
    public func post<M: Message>(
        _ message: M, subject: String? = nil, retain: Bool = false, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(message, subject: subject, options: PostOptions(retain: retain, deadline: deadline))
    }

    /// Posts bytes that are encoded already, under a name.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - payload: told to observers as it is; its format is not checked.
    ///   - subject: as in ``post(_:subject:retain:deadline:)``.
    ///   - retain: as in ``post(_:subject:retain:deadline:)``.
    ///   - deadline: as in ``post(_:subject:retain:deadline:)``.
    /// - Returns: its place in the center's order.
    /// - Throws: ``SharedNotificationError``: `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`, `.invalidName`.
    @discardableResult
    public func post(
        name: Name, payload: RawPayload, subject: String? = nil, retain: Bool = false, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(
            payload, name: name, subject: subject, options: PostOptions(retain: retain, deadline: deadline))
    }
}
