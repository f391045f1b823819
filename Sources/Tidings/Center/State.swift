// One value for each name, whatever its subject: a subject says what a value is about, not where it is kept. Values that are to be kept side by
// side have names of their own.
extension SharedNotificationCenter {
    /// Keeps a value for its type's name and tells the name's observers: the same as posting it retained.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(TrackChanged(title: "So What"))
    /// let change = try center.state(for: TrackChanged.self)      // also in a process that starts later
    /// ```
    ///
    /// Promise: it stays until the next one of the same name, whatever the subject of either, or until it is cleared; also when every process
    /// that has the center open is gone, until the center is removed or the machine starts anew. Whoever registers later gets it first, with
    /// ``Envelope/isRetained``.
    ///
    /// - Throws: as `post(_:subject:retain:deadline:)`.
    /// - Returns: its place in the center's order.
    @discardableResult
    public func setState<M: Message>(
        _ value: M, subject: String? = nil, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(value, subject: subject, options: PostOptions(retain: true, deadline: deadline))
    }

    /// Keeps a value (as CBOR) for a name and tells the name's observers.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(0.5, for: "com.example.volume")
    /// let volume: Double? = try center.state(for: "com.example.volume")
    /// try center.clearState(for: "com.example.volume")
    /// ```
    ///
    /// - Throws: as `post(_:subject:retain:deadline:)`.
    /// - Returns: its place in the center's order.
    @discardableResult
    public func setState<Value: Encodable>(
        _ value: Value, for name: Name, subject: String? = nil, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(
            encoding: value, name: name, subject: subject, options: PostOptions(retain: true, deadline: deadline))
    }

    /// Keeps bytes that are encoded already for a name and tells the name's observers.
    ///
    /// - Throws: as ``post(name:payload:subject:retain:deadline:)``.
    /// - Returns: its place in the center's order.
    @discardableResult
    public func setState(
        _ payload: RawPayload, for name: Name, subject: String? = nil, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(
            payload, name: name, subject: subject, options: PostOptions(retain: true, deadline: deadline))
    }

    /// The value last set (or posted retained) for the type's name; `nil` if there is none.
    ///
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if what is there is not an `M`.
    public func state<M: Message>(
        for type: M.Type = M.self, subject: String? = nil
    ) throws(SharedNotificationError) -> M? {
        try core.state(message: M.self, subject: subject)
    }

    /// The value last set (or posted retained) for a name; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - name: what it is kept under.
    ///   - type: what it is decoded as.
    ///   - subject: makes no difference: a name has one value.
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if what is there is not a `Value`.
    public func state<Value: Decodable>(
        for name: Name, as type: Value.Type = Value.self, subject: String? = nil
    ) throws(SharedNotificationError) -> Value? {
        try core.state(Value.self, name: name, subject: subject)
    }

    /// The bytes last set (or posted retained) for a name; `nil` if there are none.
    public func rawState(for name: Name, subject: String? = nil) throws(SharedNotificationError) -> RawPayload? {
        try core.rawState(name: name, subject: subject)
    }

    /// Forgets the value of a name, so that ``state(for:as:subject:)`` is `nil` and nobody who registers later gets it. Observers see
    /// an empty payload of format ``PayloadFormat/bytes``, which typed observers do not get.
    public func clearState(for name: Name, subject: String? = nil) throws(SharedNotificationError) {
        try core.clearState(name: name, subject: subject)
    }

    /// Forgets the value of a type's name, as ``clearState(for:subject:)`` of a name does.
    public func clearState<M: Message>(for type: M.Type) throws(SharedNotificationError) {
        try clearState(for: M.name)
    }
}
