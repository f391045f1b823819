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
    /// empty. ``onDiagnostic`` then receives the error (``Diagnostic/observerFailed(_:_:)``), with the codes that
    /// `addObserver` throws.
    ///
    /// If the center ends, the sequence ends after the messages that were still waiting. A `nil` element carries no
    /// reason. ``onDiagnostic`` receives the reason (``Diagnostic/dispatchFailed(_:)``), and it is the last element of
    /// a sequence of deliveries (``Delivery/centerEnded(_:)``).
    ///
    /// - Parameters:
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - options: the subject, the start, and what happens to losses. ``ObserverOptions/onMissed`` is called in the
    ///     context that calls the iterator. A queue, an executor and an owner have no effect.
    ///   - bufferSize: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator.
    ///   - keeping: which notifications a full buffer keeps, the newest or the oldest. The sequence drops the excess
    ///     and reports it as missed. A lossless sequence drops none and ignores this parameter.
    public func messages<M: Message>(
        of type: M.Type = M.self, options: ObserverOptions = ObserverOptions(), bufferSize: Int = 1024,
        keeping: Keeping = .newest
    ) -> ObservedSequence<M> {
        let reading = Reading(type, onUndecodable: options.onUndecodable, in: core)
        return messages([M.name], options, .sequence(bufferSize, keeping)) { reading.message($0) }
    }

    /// The messages of a type with their envelopes, and losses at the positions where they occurred, as a sequence.
    ///
    /// For an example see ``Delivery``. Start, end, failure and parameters: as for
    /// `messages(of:options:bufferSize:keeping:)`. Losses are elements, so ``ObserverOptions/onMissed`` has no effect.
    public func deliveries<M: Message>(
        of type: M.Type = M.self, options: ObserverOptions = ObserverOptions(), bufferSize: Int = 1024,
        keeping: Keeping = .newest
    ) -> ObservedSequence<Delivery<M>> {
        let reading = Reading(type, onUndecodable: options.onUndecodable, in: core)
        return deliveries([M.name], options, .sequence(bufferSize, keeping)) { reading.message($0) }
    }

    /// The arguments of a key's notifications, as a sequence.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// for await (percent, stage) in center.messages(of: progress) { print("\(stage): \(percent) %") }
    /// ```
    ///
    /// Elements, start, end, failure and parameters: as for `messages(of:options:bufferSize:keeping:)` of a type.
    public func messages<each Argument>(
        of key: Key<repeat each Argument>, options: ObserverOptions = ObserverOptions(), bufferSize: Int = 1024,
        keeping: Keeping = .newest
    ) -> ObservedSequence<(repeat each Argument)> {
        let reading = KeyReading(key, onUndecodable: options.onUndecodable, in: core)
        return messages([key.name], options, .sequence(bufferSize, keeping)) { reading.arguments($0) }
    }

    /// The arguments of a key's notifications with their envelopes, and losses at the positions where they occurred, as
    /// a sequence.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// for await delivery in try SharedNotificationCenter.default.deliveries(of: progress) {
    ///     if case .message((let percent, let stage), let envelope) = delivery { print(stage, percent, envelope) }
    /// }
    /// ```
    ///
    /// Start, end, failure and parameters: as for `messages(of:options:bufferSize:keeping:)` of a type. Losses are
    /// elements, so ``ObserverOptions/onMissed`` has no effect.
    public func deliveries<each Argument>(
        of key: Key<repeat each Argument>, options: ObserverOptions = ObserverOptions(), bufferSize: Int = 1024,
        keeping: Keeping = .newest
    ) -> ObservedSequence<Delivery<(repeat each Argument)>> {
        let reading = KeyReading(key, onUndecodable: options.onUndecodable, in: core)
        return deliveries([key.name], options, .sequence(bufferSize, keeping)) { reading.arguments($0) }
    }

    /// The notifications of some names, of names with a prefix, or of all names, untyped, as a sequence.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// for await delivery in center.deliveries(ofNames: .prefix("com.example.player.")) {
    ///     if case .notification(let notification) = delivery { print(notification.name, notification.payload.json) }
    /// }
    /// ```
    ///
    /// The notifications of all names arrive in one order. Start, end, failure and parameters: as for
    /// `messages(of:options:bufferSize:keeping:)` of a type. Losses are elements, and every payload is delivered, so
    /// ``ObserverOptions/onMissed`` and ``ObserverOptions/onUndecodable`` have no effect.
    public func deliveries(
        ofNames names: Names, options: ObserverOptions = ObserverOptions(), bufferSize: Int = 1024,
        keeping: Keeping = .newest
    ) -> ObservedSequence<RawDelivery> {
        ObservedSequence(
            core: core, subscription: options.subscription(to: names), bounds: .sequence(bufferSize, keeping)
        ) { item in
            switch item {
            case .arrival(let arrival): .notification(arrival.notification)
            case .missed(let count, let name): .missed(count, name)
            case .reopened(let incarnation): .reopened(incarnation: incarnation)
            case .ended(let error): .centerEnded(error)
            }
        }
    }

    func messages<Value: Sendable>(
        _ names: Names, _ options: ObserverOptions, _ bounds: DeliveryBuffer.Bounds,
        read: @escaping @Sendable (Arrival) -> Value?
    ) -> ObservedSequence<Value> {
        let onMissed = options.onMissed ?? { [core] in core.diagnostics.report(.missed($0, $1)) }
        return ObservedSequence(core: core, subscription: options.subscription(to: names), bounds: bounds) { item in
            switch item {
            case .arrival(let arrival): return read(arrival)
            case .missed(let count, let name): onMissed(count, name)
            case .reopened, .ended: break
            }
            return nil
        }
    }

    private func deliveries<Value: Sendable>(
        _ names: Names, _ options: ObserverOptions, _ bounds: DeliveryBuffer.Bounds,
        read: @escaping @Sendable (Arrival) -> Value?
    ) -> ObservedSequence<Delivery<Value>> {
        ObservedSequence(core: core, subscription: options.subscription(to: names), bounds: bounds) { item in
            switch item {
            case .arrival(let arrival): read(arrival).map { .message($0, arrival.envelope) }
            case .missed(let count, _): .missed(count)
            case .reopened(let incarnation): .reopened(incarnation: incarnation)
            case .ended(let error): .centerEnded(error)
            }
        }
    }
}
