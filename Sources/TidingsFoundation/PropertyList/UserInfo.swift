// Posting a name with a dictionary, and the dictionary of a notification, as `DistributedNotificationCenter` has them.
public import Tidings

extension SharedNotificationCenter {
    /// Posts a name with a dictionary, as `DistributedNotificationCenter` does.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", userInfo: ["volume": 0.5, "muted": false])
    /// ```
    ///
    /// Promise: as for a message.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - userInfo: travels as a CBOR map. `nil`: there is no payload.
    ///   - options: the subject (a ``Notification/object``), whether the notification is retained, and the timeout.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed` (nested too deep), `.payloadTooLarge`,
    ///   `.noSpace`, `.full`, `.removed`, `.notPermitted` (the center was opened for reading alone), `.invalidArgument`
    ///   (retained, with a subject).
    public func post(
        name: Name, userInfo: UserInfo?, options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) {
        _ = try positionOfPost(name: name, userInfo: userInfo, options: options)
    }

    /// As `post(name:userInfo:options:)`. Returns the position.
    func positionOfPost(
        name: Name, userInfo: UserInfo?, options: PostOptions
    ) throws(SharedNotificationError) -> UInt64 {
        guard let userInfo else { return try post(name: name, payload: .empty, options: options) }
        return try post(encoding: userInfo, name: name, options: options)
    }
}

extension SharedNotificationCenter.Notification {
    /// The dictionary that was posted; `nil` if there was none, or if the payload is not a dictionary of property-list
    /// values (``payload`` has it in any case). Decoded anew at each access.
    ///
    /// A message of a type travels as a map of its fields, so the dictionary has these fields.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: "com.example.changed") { notification in
    ///     print(notification.object ?? "no object", notification.userInfo?["volume"]?.double ?? 1)
    /// }
    /// ```
    public var userInfo: SharedNotificationCenter.UserInfo? {
        payload.bytes.isEmpty ? nil : (try? payload.decode(SharedNotificationCenter.PropertyValue.self))?.dictionary
    }
}
