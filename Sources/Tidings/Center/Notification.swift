extension SharedNotificationCenter {
    /// A notification as those know it who come from `DistributedNotificationCenter`: a name, an object and a dictionary.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: "com.example.changed", object: nil) { notification in
    ///     print(notification.object ?? "somebody", notification.userInfo?["volume"]?.double ?? 1)
    /// }
    /// ```
    ///
    /// Any notification can be looked at like this, whoever posted it and how: the subject is its object, and a message of a type, which
    /// travels as a map of its fields, has these in its dictionary.
    public struct Notification: Hashable, Sendable {
        /// Its name.
        public var name: Name
        /// Whom or what it is about: its subject.
        public var object: String? { envelope.subject }
        /// The payload as it travels.
        public var payload: RawPayload
        /// What else is known about it.
        public var envelope: Envelope

        /// What was posted with it; `nil` if there was nothing, or nothing that is a dictionary of property-list values (``payload`` has it
        /// in any case). Decoded anew at each access.
        public var userInfo: UserInfo? {
            payload.bytes.isEmpty ? nil : (try? payload.decode(PropertyValue.self))?.dictionary
        }

        init(_ notification: RawNotification) {
            name = notification.name
            payload = notification.payload
            envelope = notification.envelope
        }
    }

    /// Posts a name with an object and a dictionary, as `DistributedNotificationCenter` does.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", object: "player-1", userInfo: ["volume": 0.5, "muted": false])
    /// ```
    ///
    /// Promise: never waits for another process, unless a lossless observer is a whole ring behind and a deadline was given. On
    /// failure nothing was posted.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - object: whom or what it is about, 1 to 255 bytes of UTF-8: the same as a message's subject.
    ///   - userInfo: travels as a CBOR map. `nil`: there is no payload.
    ///   - deliverImmediately: observers of suspended centers get it as well, with what was held back for them before. Takes memory beside the
    ///     ring, as a large payload does.
    ///   - retain: keep it for observers that register later, until the next retained one of the same name. Not with an object:
    ///     `.invalidArgument`.
    ///   - deadline: how long a lossless observer may hold this post back. `nil` is not at all.
    /// - Returns: its place in the center's order.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed` (nested too deep), `.payloadTooLarge`, `.noSpace`, `.full`,
    ///   `.removed`, `.notPermitted` (the center was opened for reading alone), `.invalidArgument` (retained, with an object).
    @discardableResult
    public func post(
        name: Name, object: String? = nil, userInfo: UserInfo? = nil, deliverImmediately: Bool = false,
        retain: Bool = false, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        let options = PostOptions(retain: retain, deadline: deadline, isImmediate: deliverImmediately)
        guard let userInfo else { return try core.post(.empty, name: name, subject: object, options: options) }
        return try core.post(encoding: userInfo, name: name, subject: object, options: options)
    }
}
