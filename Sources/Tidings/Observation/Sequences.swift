// Sequences of messages and of raw notifications, and the types that they return.

extension SharedNotificationCenter {
    /// The messages of a type, as a sequence.
    ///
    /// The sequence yields every matching message that is posted after its iterator was made, once and in order. A
    /// retained message, if there is one, comes before them.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// for await change in center.messages(of: TrackChanged.self, bufferSize: 10) { print(change.title) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, where a `for await` loop begins. It ends with the iterator, or when
    /// its task is cancelled. Each iterator is an observation of its own. If observing can't start, the sequence is
    /// empty. ``onDiagnostic`` then receives the error (``Diagnostic/sequenceFailed(_:)``), with the codes that
    /// `addObserver` throws.
    ///
    /// If the center ends, the sequence ends after the messages that were still waiting. A `nil` element carries no
    /// reason. ``onDiagnostic`` receives the reason (``Diagnostic/dispatchFailed(_:)``), and it is the last element of
    /// a sequence of deliveries (``Delivery/centerEnded(_:)``).
    ///
    /// - Parameters:
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - bufferSize: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator.
    ///   - keeping: which notifications a full buffer keeps, the newest or the oldest. The sequence drops the excess
    ///     and reports it as missed. A lossless sequence drops none and ignores this parameter.
    ///   - onMissed: receives the number of lost messages before the next message, in the context that calls the
    ///     iterator. `nil`: ``onDiagnostic`` receives it.
    ///   - onUndecodable: receives payloads that do not decode as `M`. `nil`: ``onDiagnostic`` receives them.
    public func messages<M: Message>(
        of type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        bufferSize: Int = 1024,
        keeping: Keeping = .newest,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) -> Messages<M> {
        Messages(
            deliveries: deliveries(
                of: type, subject: subject, from: start, excludingOwnPosts: excludingOwnPosts, lossless: lossless,
                bufferSize: bufferSize, keeping: keeping, onUndecodable: onUndecodable),
            onMissed: onMissed)
    }

    /// The messages of a type with their envelopes, and losses at the positions where they occurred, as a sequence.
    ///
    /// For an example see ``Delivery``. Start, end, failure and parameters: as for
    /// ``messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onMissed:onUndecodable:)-54fec``.
    public func deliveries<M: Message>(
        of type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        bufferSize: Int = 1024,
        keeping: Keeping = .newest,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) -> Deliveries<M> {
        Deliveries(
            core: core,
            subscription: Subscription(
                names: [M.name], subject: subject, start: start, excludesOwn: excludingOwnPosts, isLossless: lossless),
            bounds: .sequence(bufferSize, keeping),
            reading: Reading(type, onUndecodable: onUndecodable, in: core))
    }

    /// A sequence of messages. It observes only while it is iterated.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// func hearItself(_ center: SharedNotificationCenter) async throws {
    ///     var changes = center.messages(of: TrackChanged.self).makeAsyncIterator()        // observes from here on
    ///     try center.post(TrackChanged(title: "So What"))
    ///     if let change = await changes.next() { print(change.title) }
    /// }
    /// ```
    ///
    /// See ``messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onMissed:onUndecodable:)-54fec``.
    public struct Messages<M: Message>: AsyncSequence, Sendable {
        /// A message.
        public typealias Element = M
        /// The sequence does not throw.
        public typealias Failure = Never

        let deliveries: Deliveries<M>
        let onMissed: (@Sendable (Int) -> Void)?

        /// Starts to observe: the iterator yields what is posted after this call has returned. For an example see
        /// ``Messages``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(deliveries: deliveries.makeAsyncIterator(), onMissed: onMissed)
        }

        /// One iteration: it observes from its creation until its last copy is released. Copies share the elements:
        /// each element goes to one copy. For an example see ``Messages``.
        public struct Iterator: AsyncIteratorProtocol {
            var deliveries: Deliveries<M>.Iterator
            let onMissed: (@Sendable (Int) -> Void)?

            /// The next message, as soon as there is one. `nil`: the task was cancelled or observing has failed; every
            /// later call returns `nil`, too. For an example see ``Messages``.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> M? {
                while let delivery = await deliveries.next(isolation: actor) {
                    switch delivery {
                    case .message(let message, _): return message
                    case .missed(let count): deliveries.feed.reportMissed(count, to: onMissed)
                    case .reopened, .centerEnded: continue
                    }
                }
                return nil
            }
        }
    }

    /// A sequence of messages with their envelopes, and of losses. It observes only while it is iterated. For an
    /// example see ``Delivery``.
    public struct Deliveries<M: Message>: AsyncSequence, Sendable {
        /// A message with its envelope, or a loss.
        public typealias Element = Delivery<M>
        /// The sequence does not throw.
        public typealias Failure = Never

        let core: CenterCore
        let subscription: Subscription
        let bounds: DeliveryBuffer.Bounds
        let reading: Reading<M>

        /// Starts to observe: the iterator yields what is posted after this call has returned. For an example see
        /// ``Delivery``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(feed: Feed(core: core, subscription: subscription, bounds: bounds), reading: reading)
        }

        /// One iteration: it observes from its creation until its last copy is released. Copies share the elements:
        /// each element goes to one copy. For an example see ``Delivery``.
        public struct Iterator: AsyncIteratorProtocol {
            let feed: Feed
            let reading: Reading<M>

            /// The next delivery, as soon as there is one. `nil`: the task was cancelled or observing has failed; every
            /// later call returns `nil`, too. For an example see ``Delivery``.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Delivery<M>? {
                while let item = await feed.next(isolation: actor) {
                    switch item {
                    case .arrival(let arrival):
                        if let message = reading.message(arrival) { return .message(message, arrival.envelope) }
                    case .missed(let count, _): return .missed(count)
                    case .reopened(let incarnation): return .reopened(incarnation: incarnation)
                    case .ended(let error): return .centerEnded(error)
                    }
                }
                return nil
            }
        }
    }

    /// A sequence of notifications with their payload's bytes as posted, and of losses. It observes only while it is
    /// iterated.
    ///
    /// For an example see ``deliveries(ofNames:prefixes:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:)``.
    public struct RawDeliveries: AsyncSequence, Sendable {
        /// A notification, or a loss.
        public typealias Element = RawDelivery
        /// The sequence does not throw.
        public typealias Failure = Never

        let core: CenterCore
        let subscription: Subscription
        let bounds: DeliveryBuffer.Bounds

        /// Starts to observe: the iterator yields what is posted after this call has returned. For an example see
        /// ``RawDelivery``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(feed: Feed(core: core, subscription: subscription, bounds: bounds))
        }

        /// One iteration: it observes from its creation until its last copy is released. Copies share the elements:
        /// each element goes to one copy. For an example see ``RawDelivery``.
        public struct Iterator: AsyncIteratorProtocol {
            let feed: Feed

            /// The next delivery, as soon as there is one. `nil`: the task was cancelled or observing has failed; every
            /// later call returns `nil`, too. For an example see ``RawDelivery``.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> RawDelivery? {
                switch await feed.next(isolation: actor) {
                case .arrival(let arrival): .notification(arrival.notification)
                case .missed(let count, let name): .missed(count, name)
                case .reopened(let incarnation): .reopened(incarnation: incarnation)
                case .ended(let error): .centerEnded(error)
                case nil: nil
                }
            }
        }
    }
}
