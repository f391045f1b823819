// Overloads that take an optional: `nil` clears the retained value. They return nothing, because the C library does not
// report the position at which a value was cleared. Also, a used result can't make the compiler select the wrong
// overload.
extension SharedNotificationCenter {
    /// Sets the retained value of a type's name; `nil` clears it.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// func play(_ track: TrackChanged?, in center: SharedNotificationCenter) throws {
    ///     try center.setState(track)      // nil: nothing plays any more
    /// }
    /// ```
    ///
    /// - Throws: as `post(_:subject:retain:deadline:)`.
    public func setState<M: Message>(
        _ value: M?, deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let value else { return try core.clearState(name: M.name, deadline: deadline) }
        try setState(value, deadline: deadline)
    }

    /// Sets a value (as CBOR) as the retained value of a name; `nil` clears it.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let volume: Double? = nil
    /// try center.setState(volume, for: "com.example.volume")
    /// ```
    ///
    /// If generic code does not know that its value is an optional, `nil` is retained as a value: CBOR's null.
    ///
    /// - Throws: as `post(_:subject:retain:deadline:)`.
    public func setState<Value: Encodable>(
        _ value: Value?, for name: Name, deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let value else { return try core.clearState(name: name, deadline: deadline) }
        try setState(value, for: name, deadline: deadline)
    }

    /// Sets bytes that are already encoded as the retained value of a name; `nil` clears it. A plain `nil` selects this
    /// overload.
    ///
    /// ```swift
    /// try SharedNotificationCenter.default.setState(nil, for: "com.example.volume")
    /// ```
    ///
    /// - Throws: as `post(name:payload:subject:retain:deadline:)`.
    public func setState(
        _ payload: RawPayload?, for name: Name, deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let payload else { return try core.clearState(name: name, deadline: deadline) }
        try setState(payload, for: name, deadline: deadline)
    }

    /// Sets a key's arguments as the retained value of its name; `nil` clears it.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// try SharedNotificationCenter.default.setState(nil, for: progress)
    /// ```
    ///
    /// If the key's only argument is an optional, `nil` is that argument and is retained. Use `clearState(for:)` to
    /// clear it.
    ///
    /// - Throws: as `post(_:_:subject:retain:deadline:)`.
    @_disfavoredOverload
    public func setState<each Argument>(
        _ arguments: (repeat each Argument)?, for key: Key<repeat each Argument>,
        deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let arguments else { return try core.clearState(name: key.name, deadline: deadline) }
        try setState(repeat each arguments, for: key, deadline: deadline)
    }

    // MARK: Posts

    /// Posts a message or `nil`. A retained `nil` clears the retained value; otherwise `nil` is a notification without
    /// payload.
    ///
    /// - Throws: as `post(_:subject:retain:deadline:)`.
    public func post<M: Message>(
        _ message: M?, subject: String? = nil, retain: Bool, deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let message else { return try postNothing(M.name, subject, retain, deadline) }
        try post(message, subject: subject, retain: retain, deadline: deadline)
    }

    /// Posts bytes that are already encoded, or `nil`. A retained `nil` clears the retained value; otherwise `nil` is a
    /// notification without payload.
    ///
    /// ```swift
    /// try SharedNotificationCenter.default.post(name: "com.example.volume", payload: nil, retain: true)
    /// ```
    ///
    /// - Throws: as `post(name:payload:subject:retain:deadline:)`.
    public func post(
        name: Name, payload: RawPayload?, subject: String? = nil, retain: Bool, deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let payload else { return try postNothing(name, subject, retain, deadline) }
        try post(name: name, payload: payload, subject: subject, retain: retain, deadline: deadline)
    }

    /// Posts a key's arguments or `nil`. A retained `nil` clears the retained value; otherwise `nil` is a notification
    /// without payload.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// try SharedNotificationCenter.default.post(progress, nil, retain: true)
    /// ```
    ///
    /// If the key's only argument is an optional, `nil` is that argument and is posted. Use `clearState(for:)` to clear
    /// it.
    ///
    /// - Throws: as `post(_:_:subject:retain:deadline:)`.
    @_disfavoredOverload
    public func post<each Argument>(
        _ key: Key<repeat each Argument>, _ arguments: (repeat each Argument)?, subject: String? = nil, retain: Bool,
        deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let arguments else { return try postNothing(key.name, subject, retain, deadline) }
        try post(key, repeat each arguments, subject: subject, retain: retain, deadline: deadline)
    }

    private func postNothing(
        _ name: Name, _ subject: String?, _ retain: Bool, _ deadline: Duration?
    ) throws(SharedNotificationError) {
        if retain { return try core.clearState(name: name, subject: subject, deadline: deadline) }
        _ = try core.post(
            .empty, name: name, subject: subject, options: PostOptions(retain: false, deadline: deadline))
    }
}
