// One value for each name, and no subjects: a subject selects among notifications, and a value is found by its name alone. Values that are to be
// kept side by side have names of their own, as MQTT's topics and D-Bus's object paths do, and are observed together by their prefix.
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
    /// Promise: it stays until the next one of the same name, or until it is cleared, or set to `nil`; also when
    /// every process that has the center open is gone, until the center is removed or the machine starts anew. Whoever registers later gets it
    /// first, with ``Envelope/isRetained``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`,
    ///   `.notPermitted` (the center was opened for reading alone).
    /// - Returns: its place in the center's order.
    @discardableResult
    public func setState<M: Message>(
        _ value: M, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(value, subject: nil, options: PostOptions(retain: true, deadline: deadline))
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
    /// Promise: as `setState(_:deadline:)` of a message.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`,
    ///   `.notPermitted` (the center was opened for reading alone).
    /// - Returns: its place in the center's order.
    @discardableResult
    public func setState<Value: Encodable>(
        _ value: Value, for name: Name, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(
            encoding: value, name: name, subject: nil, options: PostOptions(retain: true, deadline: deadline))
    }

    /// Keeps bytes that are encoded already for a name and tells the name's observers.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(.text("So What"), for: "com.example.track")
    /// let track = try center.rawState(for: "com.example.track")
    /// ```
    ///
    /// Promise: as `setState(_:deadline:)` of a message.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`, `.notPermitted`.
    /// - Returns: its place in the center's order.
    @discardableResult
    public func setState(
        _ payload: RawPayload, for name: Name, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(
            payload, name: name, subject: nil, options: PostOptions(retain: true, deadline: deadline))
    }

    /// The value last set (or posted retained) for the type's name; `nil` if there is none.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// if let change = try SharedNotificationCenter.default.state(for: TrackChanged.self) { print(change.title) }
    /// ```
    ///
    /// - Parameter type: whose name it is kept under, and what it is decoded as.
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if what is there is not an `M`, `.invalidName`.
    public func state<M: Message>(
        for type: M.Type = M.self
    ) throws(SharedNotificationError) -> M? {
        try core.state(message: M.self)
    }

    /// The value last set (or posted retained) for a name; `nil` if there is none.
    ///
    /// ```swift
    /// let volume = try SharedNotificationCenter.default.state(for: "com.example.volume", as: Double.self) ?? 1
    /// ```
    ///
    /// - Parameters:
    ///   - name: what it is kept under.
    ///   - type: what it is decoded as.
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if what is there is not a `Value`, `.invalidName`.
    public func state<Value: Decodable>(
        for name: Name, as type: Value.Type = Value.self
    ) throws(SharedNotificationError) -> Value? {
        try core.state(Value.self, name: name)
    }

    /// The bytes last set (or posted retained) for a name, whatever they are; `nil` if there are none.
    ///
    /// ```swift
    /// let json = try SharedNotificationCenter.default.rawState(for: "com.example.volume")?.json ?? "nothing"
    /// ```
    ///
    /// - Parameter name: what they are kept under.
    /// - Throws: ``SharedNotificationError``: `.invalidName`.
    public func rawState(for name: Name) throws(SharedNotificationError) -> RawPayload? {
        try core.rawState(name: name)
    }

    /// Forgets the value of a name, so that ``state(for:as:)`` is `nil` and nobody who registers later gets it.
    ///
    /// ```swift
    /// try SharedNotificationCenter.default.clearState(for: "com.example.volume")
    /// ```
    ///
    /// Observers of the name alone get an empty payload with ``Envelope/isCleared``; those of a type or a key get nothing, ``ObservedState`` becomes
    /// `nil`. It takes no place for payloads, so that values can be cleared also when these have taken
    /// all places there are.
    ///
    /// - Parameter name: what the value is kept under. That there is none is no error.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.full`, `.removed`, `.notPermitted`.
    public func clearState(for name: Name) throws(SharedNotificationError) {
        try core.clearState(name: name)
    }

    /// Forgets the value of a type's name, as ``clearState(for:)`` of a name does.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// try SharedNotificationCenter.default.clearState(for: TrackChanged.self)
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.full`, `.removed`, `.notPermitted`.
    public func clearState<M: Message>(for type: M.Type) throws(SharedNotificationError) {
        try clearState(for: M.name)
    }
}
