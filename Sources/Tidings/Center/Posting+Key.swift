// Posting a key's arguments, and the state of a key.
extension SharedNotificationCenter {
    /// Posts a key's arguments to all observers of its name, in all processes.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// try SharedNotificationCenter.default.post(progress, 42, "decoding", retain: true)
    /// ```
    ///
    /// Promise: as for a message. Never waits for another process, unless a lossless observer is a whole ring behind
    /// and a deadline was given. On failure nothing was posted.
    ///
    /// - Parameters:
    ///   - key: the name, and the types of its arguments.
    ///   - arguments: encoded as one CBOR array, at most the center's maximum payload size.
    ///   - subject: what the notification is about, 1 to 255 bytes of UTF-8. Observers can ask for one subject only.
    ///   - retain: keeps the arguments for observers that register later, until the next retained ones of the same
    ///     name. Not with a subject: `.invalidArgument`.
    ///   - deadline: how long a lossless observer may hold this post back. `nil`: not at all.
    /// - Returns: its position in the center's order.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed`, `.payloadTooLarge`, `.noSpace`,
    ///   `.full`, `.removed`, `.notPermitted` (the center was opened for reading alone), `.invalidArgument` (retained,
    ///   with a subject).
    @discardableResult
    public func post<each Argument>(
        _ key: Key<repeat each Argument>, _ arguments: repeat each Argument, subject: String? = nil,
        retain: Bool = false, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try core.post(
            encoding: PostedArguments(values: (repeat each arguments)), name: key.name, subject: subject,
            as: PostedArguments<repeat each Argument>.self, options: PostOptions(retain: retain, deadline: deadline))
    }

    /// Sets a key's arguments as the retained value of its name: the same as posting them retained.
    ///
    /// ```swift
    /// let window = SharedNotificationCenter.Key<Int, Int>("com.example.window.size")
    /// let center = try SharedNotificationCenter.default
    /// try center.setState(640, 480, for: window)
    /// // also in a process that starts later
    /// if let (width, height) = try center.state(for: window) { print(width, height) }
    /// try center.clearState(for: window)
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.encodingFailed`, `.payloadTooLarge`, `.noSpace`,
    ///   `.full`, `.removed`, `.notPermitted` (the center was opened for reading alone).
    /// - Returns: its position in the center's order.
    @discardableResult
    public func setState<each Argument>(
        _ arguments: repeat each Argument, for key: Key<repeat each Argument>, deadline: Duration? = nil
    ) throws(SharedNotificationError) -> UInt64 {
        try post(key, repeat each arguments, retain: true, deadline: deadline)
    }

    /// Clears the retained arguments of a key, as ``clearState(for:)`` of a name does.
    ///
    /// ```swift
    /// let window = SharedNotificationCenter.Key<Int, Int>("com.example.window.size")
    /// try SharedNotificationCenter.default.clearState(for: window)
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace`, `.full`, `.removed`, `.notPermitted`.
    public func clearState<each Argument>(for key: Key<repeat each Argument>) throws(SharedNotificationError) {
        try clearState(for: key.name)
    }

    /// The arguments last set, or posted retained, for a key; `nil` if there are none.
    ///
    /// If an older poster did not send the last arguments, they have the key's defaults, as for an observer (see
    /// ``Key``).
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// if let (percent, stage) = try SharedNotificationCenter.default.state(for: progress) {
    ///     print("\(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if the retained value does not match the key,
    ///   `.invalidName`.
    public func state<each Argument>(
        for key: Key<repeat each Argument>
    ) throws(SharedNotificationError) -> (repeat each Argument)? {
        try core.state(
            name: key.name, posted: PostedArguments<repeat each Argument>.self, as: (repeat each Argument).self,
            needed: key.needed
        ) { format, bytes in try key.arguments(format: format, bytes: bytes) }
    }
}
