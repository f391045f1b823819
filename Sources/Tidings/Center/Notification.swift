// Notifications with the properties of `DistributedNotificationCenter`: name, object and dictionary.
extension SharedNotificationCenter {
    /// A notification as `DistributedNotificationCenter` has it: a name, an object and a dictionary.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: "com.example.changed") { notification in
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

        /// Creates a notification, for tests of closures that receive one.
        ///
        /// ```swift
        /// func line(_ notification: SharedNotificationCenter.Notification) -> String {
        ///     "\(notification.name) \(notification.object ?? "") \(notification.payload.json)"
        /// }
        /// let envelope = SharedNotificationCenter.Envelope(subject: "player-1")
        /// let text = line(.init(name: "com.example.volume", payload: .json("0.5"), envelope: envelope))
        /// ```
        public init(name: Name, payload: RawPayload = .empty, envelope: Envelope = Envelope()) {
            self.name = name
            self.payload = payload
            self.envelope = envelope
        }
    }
}
