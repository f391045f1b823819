extension SharedNotificationCenter {
    /// The arguments of a key's notifications, as a sequence.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// for await (percent, stage) in try SharedNotificationCenter.default.messages(of: progress) {
    ///     print("\(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// Starts and ends, and what the parameters mean: as
    /// `messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:onMissed:onUndecodable:)`.
    public func messages<each Argument>(
        of key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        bufferSize: Int = 1024,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) -> KeyMessages<repeat each Argument> {
        KeyMessages(
            core: core,
            interest: Interest(
                names: [key.name], subject: subject, start: start, excludesOwn: excludingOwnPosts,
                isLossless: lossless),
            bufferSize: bufferSize, onMissed: onMissed,
            reading: KeyReading(key, onUndecodable: onUndecodable, in: core))
    }

    /// A key's arguments as a sequence of tuples. See
    /// `messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:onMissed:onUndecodable:)`.
    public struct KeyMessages<each Argument: Codable & Sendable>: AsyncSequence, Sendable {
        /// The arguments.
        public typealias Element = (repeat each Argument)
        /// It does not fail.
        public typealias Failure = Never

        let core: CenterCore
        let interest: Interest
        let bufferSize: Int
        let onMissed: (@Sendable (Int) -> Void)?
        let reading: KeyReading<repeat each Argument>

        /// Starts to observe.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                feed: Feed(core: core, interest: interest, bufferSize: bufferSize), onMissed: onMissed, reading: reading
            )
        }

        /// One pass over it: it observes from when it was made until it goes. Copies take turns.
        public struct Iterator: AsyncIteratorProtocol {
            let feed: Feed
            let onMissed: (@Sendable (Int) -> Void)?
            let reading: KeyReading<repeat each Argument>

            /// The next notification's arguments; `nil` when the task was cancelled, or observing has failed.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async -> (repeat each Argument)? {
                while let item = await feed.next(isolation: actor) {
                    switch item {
                    case .arrival(let arrival):
                        if let arguments = reading.arguments(arrival) { return arguments }
                    case .missed(let count, _):
                        if let onMissed { onMissed(count) } else { feed.reportMissed(count) }
                    }
                }
                return nil
            }
        }
    }
}
