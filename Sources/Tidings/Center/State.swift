// The retained value of a name: set, read, clear. A name has one value, and a value has no subject: a subject selects
// among notifications, and a value is found by its name alone. Values that are kept side by side have names of their
// own, as in MQTT and D-Bus, and are observed together by their prefix.
extension SharedNotificationCenter {
    /// Sets the retained value of a type's name and notifies the name's observers: the same as posting it retained.
    /// `nil` clears it, as a `nil` in place of bytes does.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(TrackChanged(title: "So What"))
    /// let change = try center.state(for: TrackChanged.self)      // also in a process that starts later
    /// ```
    ///
    /// Promise: the value stays until the next one of the same name, or until it is cleared or set to `nil`. It stays
    /// after the last process that has the center open has ended, until the center is removed or the machine restarts.
    /// An observer that registers later receives it first, with ``Envelope/isRetained``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed`, `.payloadTooLarge`, `.noSpace`,
    ///   `.full`, `.removed`, `.notPermitted` (the center was opened for reading alone).
    public func setState<M: Message>(_ value: M?, timeout: Duration? = nil) throws(SharedNotificationError) {
        guard let value else { return try posting.clearState(name: M.name, timeout: timeout) }
        _ = try posting.post(value, subject: nil, PostFlags(isRetained: true, timeout: timeout))
    }

    /// Sets a value (as CBOR) as the retained value of a name and notifies the name's observers. `nil` clears it.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(0.5, for: "com.example.volume")
    /// let volume: Double? = try center.state(for: "com.example.volume")
    /// try center.setState(nil, for: "com.example.volume")
    /// ```
    ///
    /// Promise: as `setState(_:timeout:)` of a message. If generic code does not know that its value is an optional,
    /// `nil` is retained as a value: CBOR's null.
    ///
    /// - Throws: as `setState(_:timeout:)`.
    public func setState<Value: Encodable>(
        _ value: Value?, for name: Name, timeout: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let value else { return try posting.clearState(name: name, timeout: timeout) }
        _ = try posting.post(encoding: value, name: name, subject: nil, PostFlags(isRetained: true, timeout: timeout))
    }

    /// Sets bytes that are already encoded as the retained value of a name and notifies the name's observers. `nil`
    /// clears it; a plain `nil` selects this function.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(.json("0.5"), for: "com.example.volume")
    /// let json = try center.rawState(for: "com.example.volume")?.json ?? "nothing"
    /// try center.setState(nil, for: "com.example.volume")
    /// ```
    ///
    /// Promise: as `setState(_:timeout:)` of a message. After clearing, ``state(for:as:)`` is `nil`, and observers that
    /// register later receive no value. Observers of the name alone receive an empty payload with
    /// ``Envelope/isCleared``. Observers of a type or a key receive nothing. ``ObservedState`` becomes `nil`. Clearing
    /// needs no chunk, so it succeeds even if retained values have taken all chunks.
    ///
    /// - Parameters:
    ///   - payload: the bytes, or `nil`. Clearing a name that has no value is not an error.
    ///   - name: the value's name: also a ``Message/name`` or a ``Key/name``.
    ///   - timeout: how long a lossless observer may hold the notification back. `nil`: not at all.
    /// - Throws: as `setState(_:timeout:)`, without `.encodingFailed`; clearing also without `.payloadTooLarge`.
    public func setState(
        _ payload: RawPayload?, for name: Name, timeout: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let payload else { return try posting.clearState(name: name, timeout: timeout) }
        _ = try posting.post(payload, name: name, subject: nil, PostFlags(isRetained: true, timeout: timeout))
    }

    /// The value last set (or posted retained) for the type's name, as `setState(_:timeout:)` shows; `nil` if there is
    /// none.
    ///
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if the retained value is not an `M`, `.invalidName`,
    ///   `.system` (`EBUSY`: other processes replaced the value each time it was copied).
    public func state<M: Message>(for type: M.Type = M.self) throws(SharedNotificationError) -> M? {
        try posting.state(message: M.self)
    }

    /// The value last set (or posted retained) for a name; `nil` if there is none.
    ///
    /// ```swift
    /// let volume = try SharedNotificationCenter.default.state(for: "com.example.volume", as: Double.self) ?? 1
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if the retained value is not a `Value`, `.invalidName`,
    ///   `.system` (`EBUSY`, as `state(for:)`).
    public func state<Value: Decodable>(
        for name: Name, as type: Value.Type = Value.self
    ) throws(SharedNotificationError) -> Value? {
        try posting.state(name: name) {
            try PayloadCoding.decode(type, format: PayloadCoding.Format(rawValue: $0), bytes: $1)
        }
    }

    /// The bytes last set (or posted retained) for a name, in any format, as `setState(_:for:timeout:)` shows; `nil` if
    /// there are none.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.system` (`EBUSY`, as `state(for:)`).
    public func rawState(for name: Name) throws(SharedNotificationError) -> RawPayload? {
        try posting.rawState(name: name)?.payload
    }

    /// Sets a key's arguments as the retained value of its name: the same as posting them retained.
    ///
    /// ```swift
    /// let window = SharedNotificationCenter.Key<Int, Int>("com.example.window.size")
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(640, 480, for: window)
    /// if let (width, height) = try center.state(for: window) { print(width, height) }
    /// ```
    ///
    /// - Throws: as `setState(_:timeout:)`.
    public func setState<each Argument>(
        _ arguments: repeat each Argument, for key: Key<repeat each Argument>, timeout: Duration? = nil
    ) throws(SharedNotificationError) {
        try post(key, repeat each arguments, options: PostOptions(retain: true, timeout: timeout))
    }

    /// The arguments last set, or posted retained, for a key, as `setState(_:for:timeout:)` shows; `nil` if there are
    /// none. If an older poster did not send the last arguments, they have the key's defaults, as for an observer.
    ///
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if the retained value does not match the key,
    ///   `.invalidName`, `.system` (`EBUSY`: other processes replaced the value each time it was copied).
    public func state<each Argument>(
        for key: Key<repeat each Argument>
    ) throws(SharedNotificationError) -> (repeat each Argument)? {
        try posting.state(
            name: key.name, as: (repeat each Argument).self, posted: PostedArguments<repeat each Argument>.self,
            needed: key.needed
        ) { format, bytes in try key.arguments(format: format, bytes: bytes) }
    }
}
