// Notifications with the properties of `DistributedNotificationCenter`: name, object and dictionary.
extension SharedNotificationCenter {
    /// A notification as `DistributedNotificationCenter` has it: a name, an object and a dictionary.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: "com.example.changed", object: nil) { notification in
    ///     print(notification.object ?? "no object", notification.userInfo?["volume"]?.double ?? 1)
    /// }
    /// ```
    ///
    /// Any notification can be read in this form, whatever its poster and its type. The subject is its object. A
    /// message of a type travels as a map of its fields, so the dictionary has these fields.
    public struct Notification: Hashable, Sendable {
        /// The notification's name.
        public var name: Name
        /// What the notification is about: its subject.
        public var object: String? { envelope.subject }
        /// The payload, encoded as it was posted.
        public var payload: RawPayload
        /// All other facts about the notification, such as its position, its poster and its time.
        public var envelope: Envelope

        /// The dictionary that was posted; `nil` if there was none, or if the payload is not a dictionary of
        /// property-list values (``payload`` has it in any case). Decoded anew at each access.
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
    /// Promise: never waits for another process, unless a lossless observer is a whole ring behind and a deadline was
    /// given. On failure nothing was posted.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - object: what the notification is about, 1 to 255 bytes of UTF-8: the same as a message's subject.
    ///   - userInfo: travels as a CBOR map. `nil`: there is no payload.
    ///   - deliverImmediately: also delivered to observers of suspended centers, after the notifications that were held
    ///     back for them. Takes a chunk, as a large payload does.
    ///   - retain: keeps the notification for observers that register later, until the next retained one of the same
    ///     name. Not with an object: `.invalidArgument`.
    ///   - deadline: how long a lossless observer may hold this post back. `nil`: not at all.
    /// - Returns: its position in the center's order.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed` (nested too deep), `.payloadTooLarge`,
    ///   `.noSpace`, `.full`, `.removed`, `.notPermitted` (the center was opened for reading alone), `.invalidArgument`
    ///   (retained, with an object).
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
