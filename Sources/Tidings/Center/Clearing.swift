// To keep nothing is to clear what is kept. Each of these stands beside an overload for a value that is there, and returns nothing, as the C library
// doesn't say where in the order a value was cleared, and so that no result ever makes the compiler choose the one that wasn't meant.
extension SharedNotificationCenter {
    /// Keeps a value for its type's name, or forgets the one that is kept: whatever the optional holds.
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

    /// Keeps a value (as CBOR) for a name, or forgets the one that is kept: whatever the optional holds.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let volume: Double? = nil
    /// try center.setState(volume, for: "com.example.volume")
    /// ```
    ///
    /// Generic code that doesn't know that its value is an optional keeps `nil` as a value, CBOR's null.
    ///
    /// - Throws: as `post(_:subject:retain:deadline:)`.
    public func setState<Value: Encodable>(
        _ value: Value?, for name: Name, deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let value else { return try core.clearState(name: name, deadline: deadline) }
        try setState(value, for: name, deadline: deadline)
    }

    /// Keeps bytes that are encoded already for a name, or forgets what is kept: whatever the optional holds. A plain `nil` means this.
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

    /// Keeps a key's arguments, or forgets those that are kept: whatever the optional holds.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// try SharedNotificationCenter.default.setState(nil, for: progress)
    /// ```
    ///
    /// Of a key whose only argument is an optional, `nil` is that argument, and is kept: `clearState(for:)` forgets it.
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

    /// Posts a message, or its absence: a retained `nil` forgets the value that is kept, any other is posted as a notification without payload.
    ///
    /// - Throws: as `post(_:subject:retain:deadline:)`.
    public func post<M: Message>(
        _ message: M?, subject: String? = nil, retain: Bool, deadline: Duration? = nil
    ) throws(SharedNotificationError) {
        guard let message else { return try postNothing(M.name, subject, retain, deadline) }
        try post(message, subject: subject, retain: retain, deadline: deadline)
    }

    /// Posts bytes that are encoded already, or their absence: a retained `nil` forgets the value that is kept, any other is posted as a
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

    /// Posts a key's arguments, or their absence: a retained `nil` forgets the value that is kept, any other is posted as a notification
    /// without payload.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// try SharedNotificationCenter.default.post(progress, nil, retain: true)
    /// ```
    ///
    /// Of a key whose only argument is an optional, `nil` is that argument, and is posted: `clearState(for:)` forgets it.
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
