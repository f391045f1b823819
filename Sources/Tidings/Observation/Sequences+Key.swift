// Sequences of the arguments of a key's notifications.

extension SharedNotificationCenter {
    /// The arguments of a key's notifications, as a sequence.
    ///
    /// The sequence yields the arguments of every matching notification that is posted after its iterator was made,
    /// once and in order. The arguments of a retained notification, if there is one, come before them.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// for await (percent, stage) in try SharedNotificationCenter.default.messages(of: progress) {
    ///     print("\(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// Start, end, failure and parameters: as for
    /// ``messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onMissed:onUndecodable:)-54fec``.
    public func messages<each Argument>(
        of key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        bufferSize: Int = 1024,
        keeping: Keeping = .newest,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) -> KeyMessages<repeat each Argument> {
        KeyMessages(
            deliveries: deliveries(
                of: key, subject: subject, from: start, excludingOwnPosts: excludingOwnPosts, lossless: lossless,
                bufferSize: bufferSize, keeping: keeping, onUndecodable: onUndecodable),
            onMissed: onMissed)
    }

    /// The arguments of a key's notifications with their envelopes, and losses at the positions where they occurred, as
    /// a sequence.
    ///
    /// For an example see ``KeyDelivery``. Start, end, failure and parameters: as for
    /// ``messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onMissed:onUndecodable:)-54fec``.
    public func deliveries<each Argument>(
        of key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        bufferSize: Int = 1024,
        keeping: Keeping = .newest,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) -> KeyDeliveries<repeat each Argument> {
        KeyDeliveries(
            core: core,
            subscription: Subscription(
                names: [key.name], subject: subject, start: start, excludesOwn: excludingOwnPosts,
                isLossless: lossless),
            bounds: .sequence(bufferSize, keeping),
            reading: KeyReading(key, onUndecodable: onUndecodable, in: core))
    }

    /// A sequence of a key's arguments, as tuples. It observes only while it is iterated.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// func hearItself(_ center: SharedNotificationCenter) async throws {
    ///     var steps = center.messages(of: progress).makeAsyncIterator()                   // observes from here on
    ///     try center.post(progress, 42, "decoding")
    ///     if let (percent, stage) = await steps.next() { print("\(stage): \(percent) %") }
    /// }
    /// ```
    public struct KeyMessages<each Argument: Codable & Sendable>: AsyncSequence, Sendable {
        /// The arguments.
        public typealias Element = (repeat each Argument)
        /// The sequence does not throw.
        public typealias Failure = Never

        let deliveries: KeyDeliveries<repeat each Argument>
        let onMissed: (@Sendable (Int) -> Void)?

        /// Starts to observe: the iterator yields what is posted after this call has returned. For an example see
        /// ``KeyMessages``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(deliveries: deliveries.makeAsyncIterator(), onMissed: onMissed)
        }

        /// One iteration: it observes from its creation until its last copy is released. Copies share the elements:
        /// each element goes to one copy. For an example see ``KeyMessages``.
        public struct Iterator: AsyncIteratorProtocol {
            var deliveries: KeyDeliveries<repeat each Argument>.Iterator
            let onMissed: (@Sendable (Int) -> Void)?

            /// The next notification's arguments, as soon as there is one. `nil`: the task was cancelled or observing
            /// has failed; every later call returns `nil`, too. For an example see ``KeyMessages``.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async -> (repeat each Argument)? {
                while let delivery = await deliveries.next(isolation: actor) {
                    switch delivery {
                    case .message(let arguments, _): return arguments
                    case .missed(let count): deliveries.feed.reportMissed(count, to: onMissed)
                    case .reopened, .centerEnded: continue
                    }
                }
                return nil
            }
        }
    }

    /// A sequence of a key's arguments with their envelopes, and of losses. It observes only while it is iterated. For
    /// an example see ``KeyDelivery``.
    public struct KeyDeliveries<each Argument: Codable & Sendable>: AsyncSequence, Sendable {
        /// The arguments with their envelope, or a loss.
        public typealias Element = KeyDelivery<(repeat each Argument)>
        /// The sequence does not throw.
        public typealias Failure = Never

        let core: CenterCore
        let subscription: Subscription
        let bounds: DeliveryBuffer.Bounds
        let reading: KeyReading<repeat each Argument>

        /// Starts to observe: the iterator yields what is posted after this call has returned. For an example see
        /// ``KeyDelivery``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(feed: Feed(core: core, subscription: subscription, bounds: bounds), reading: reading)
        }

        /// One iteration: it observes from its creation until its last copy is released. Copies share the elements:
        /// each element goes to one copy. For an example see ``KeyDelivery``.
        public struct Iterator: AsyncIteratorProtocol {
            let feed: Feed
            let reading: KeyReading<repeat each Argument>

            /// The next delivery, as soon as there is one. `nil`: the task was cancelled or observing has failed; every
            /// later call returns `nil`, too. For an example see ``KeyDelivery``.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async -> KeyDelivery<(repeat each Argument)>? {
                while let item = await feed.next(isolation: actor) {
                    switch item {
                    case .arrival(let arrival):
                        if let arguments = reading.arguments(arrival) { return .message(arguments, arrival.envelope) }
                    case .missed(let count, _): return .missed(count)
                    case .reopened(let incarnation): return .reopened(incarnation: incarnation)
                    case .ended(let error): return .centerEnded(error)
                    }
                }
                return nil
            }
        }
    }
}
