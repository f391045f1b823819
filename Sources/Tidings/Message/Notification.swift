extension SharedNotificationCenter {
    /// A notification without a type: a name, an object and a payload.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: "com.example.changed") { notification in
    ///     print(notification.object ?? "no object", notification.payload.json)
    /// }
    /// ```
    ///
    /// Any notification can be read in this form, whatever its poster and its type. The subject is its object. In the
    /// module `TidingsFoundation` it also has a dictionary (`userInfo`), as in `DistributedNotificationCenter`.
    public struct Notification: Hashable, Sendable {
        /// The notification's name.
        public var name: Name
        /// What the notification is about: its subject.
        public var object: String? { envelope.subject }
        /// The payload, encoded as it was posted.
        public var payload: RawPayload
        /// All other facts about the notification, such as its position, its poster and its time.
        public var envelope: Envelope

        /// Creates a notification, for tests of closures that receive one.
        ///
        /// ```swift
        /// let envelope = SharedNotificationCenter.Envelope(subject: "player-1")
        /// let half = SharedNotificationCenter.Notification(name: "volume", payload: .json("0.5"), envelope: envelope)
        /// ```
        public init(name: Name, payload: RawPayload = .empty, envelope: Envelope = Envelope()) {
            self.name = name
            self.payload = payload
            self.envelope = envelope
        }
    }
}
