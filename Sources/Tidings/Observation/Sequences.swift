extension SharedNotificationCenter {
    /// The messages of a type, as a sequence: every matching one posted after its iterator was made, once and in order, and before them the retained
    /// one, if there is one.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// for await change in center.messages(of: TrackChanged.self, bufferSize: 10) { print(change.title) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, that is where a `for await` loop begins, and ends with the iterator, or when
    /// its task is cancelled. Each iterator observes for itself. If observing can't start, ``onDiagnostic`` is told why
    /// (``Diagnostic/sequenceFailed(_:)``, with the codes that `addObserver` throws) and the sequence is empty.
    ///
    /// If the center ends, so does the sequence, after what was still waiting. `nil` carries no reason. ``onDiagnostic`` is told it
    /// (``Diagnostic/dispatchFailed(_:)``), and a sequence of deliveries ends with it (``Delivery/centerEnded(_:)``).
    ///
    /// - Parameters:
    ///   - type: the message type; its ``Message/name`` is what is observed.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - bufferSize: how many messages (at least 1; 64 MiB at most in all) may wait to be asked for.
    ///   - keeping: which of more are kept, the newest or the oldest; the rest are dropped, and reported as missed. Makes no difference
    ///     to a lossless one, which drops none.
    ///   - onMissed: told how many were lost, before the next one, where the iterator is asked. `nil`: ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not an `M`. `nil`: ``onDiagnostic`` is told.
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

    /// The messages of a type with their envelopes, and what was missed where it was missed, as a sequence. For an example see ``Delivery``.
    ///
    /// Starts, ends and fails, and what the parameters mean: as
    /// ``messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onMissed:onUndecodable:)->SharedNotificationCenter.Messages<M>``.
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

    /// Messages as a sequence, which does not observe before it is iterated.
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
    /// See ``messages(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onMissed:onUndecodable:)->SharedNotificationCenter.Messages<M>``.
    public struct Messages<M: Message>: AsyncSequence, Sendable {
        /// A message.
        public typealias Element = M
        /// It does not fail.
        public typealias Failure = Never

        let deliveries: Deliveries<M>
        let onMissed: (@Sendable (Int) -> Void)?

        /// Starts to observe: what is posted after this returned comes. For an example see ``Messages``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(deliveries: deliveries.makeAsyncIterator(), onMissed: onMissed)
        }

        /// One pass over it: it observes from when it was made until its last copy goes. Copies take turns. For an example see ``Messages``.
        public struct Iterator: AsyncIteratorProtocol {
            var deliveries: Deliveries<M>.Iterator
            let onMissed: (@Sendable (Int) -> Void)?

            /// The next message, as soon as there is one; `nil` when the task was cancelled, or observing has failed, and from then on. For an
            /// example see ``Messages``.
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

    /// Messages with their envelopes, and losses, as a sequence, which does not observe before it is iterated. For an example see ``Delivery``.
    public struct Deliveries<M: Message>: AsyncSequence, Sendable {
        /// A message with its envelope, or a loss.
        public typealias Element = Delivery<M>
        /// It does not fail.
        public typealias Failure = Never

        let core: CenterCore
        let subscription: Subscription
        let bounds: DeliveryBuffer.Bounds
        let reading: Reading<M>

        /// Starts to observe: what is posted after this returned comes. For an example see ``Delivery``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(feed: Feed(core: core, subscription: subscription, bounds: bounds), reading: reading)
        }

        /// One pass over it: it observes from when it was made until its last copy goes. Copies take turns. For an example see ``Delivery``.
        public struct Iterator: AsyncIteratorProtocol {
            let feed: Feed
            let reading: Reading<M>

            /// The next delivery, as soon as there is one; `nil` when the task was cancelled, or observing has failed, and from then on. For an
            /// example see ``Delivery``.
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

    /// Notifications with their payloads as they travel, and losses, as a sequence, which does not observe before it is iterated. For an example see
    /// ``deliveries(ofNames:prefixes:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:)``.
    public struct RawDeliveries: AsyncSequence, Sendable {
        /// A notification, or a loss.
        public typealias Element = RawDelivery
        /// It does not fail.
        public typealias Failure = Never

        let core: CenterCore
        let subscription: Subscription
        let bounds: DeliveryBuffer.Bounds

        /// Starts to observe: what is posted after this returned comes. For an example see ``RawDelivery``.
        public func makeAsyncIterator() -> Iterator {
            Iterator(feed: Feed(core: core, subscription: subscription, bounds: bounds))
        }

        /// One pass over it: it observes from when it was made until its last copy goes. Copies take turns. For an example see ``RawDelivery``.
        public struct Iterator: AsyncIteratorProtocol {
            let feed: Feed

            /// The next delivery, as soon as there is one; `nil` when the task was cancelled, or observing has failed, and from then on. For an
            /// example see ``RawDelivery``.
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
