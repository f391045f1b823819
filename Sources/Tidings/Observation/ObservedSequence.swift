extension SharedNotificationCenter {
    /// A sequence of what a center delivers. It observes only while it is iterated, or from ``register()`` on.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let changes = try center.messages(of: TrackChanged.self).register()             // observes from here on
    /// try center.post(TrackChanged(title: "So What"))
    /// for await change in changes { print(change.title) }
    /// ```
    ///
    /// It does not throw. The center's function that returns it says what its elements are.
    public struct ObservedSequence<Element: Sendable>: AsyncSequence, Sendable {
        let core: CenterCore
        let subscription: Subscription
        let bounds: DeliveryBuffer.Bounds
        /// `nil`: the item is no element of this sequence.
        let element: @Sendable (Item) -> Element?
        /// Receives each iteration's observation, for posts that return only after they have reached it.
        var settling: (@Sendable (Observation) -> Void)?
        /// Makes the state of an iteration whose elements depend on earlier ones; `element` is not called then.
        var reading: (@Sendable () throws(SharedNotificationError) -> any IterationReading<Element>)?

        /// Registers an observer: the iterator, which is also a sequence, yields what is posted after this call has
        /// returned, as ``ObservedSequence`` shows.
        ///
        /// What is posted before the iteration begins waits in the buffer, whose size the functions of the center
        /// state. What a full buffer drops is reported as missed.
        ///
        /// - Throws: ``SharedNotificationError``: as `addObserver(for:options:using:)`.
        public func register() throws(SharedNotificationError) -> Iterator {
            try core.refuse(subscription)
            let reading = try reading?()
            let anchor = try core.observe(
                subscription, onMissed: nil, bounds: bounds, notesArrivals: settling != nil, as: .pull)
            settling?(anchor.observation)
            reading?.begin()
            return Iterator(anchor: anchor, element: element, reading: reading)
        }

        /// Starts to observe, as ``register()`` does. A failure is reported to
        /// ``SharedNotificationCenter/onDiagnostic``, and the iterator then yields nothing.
        public func makeAsyncIterator() -> Iterator {
            do { return try register() } catch {
                core.diagnostics.report(.observerFailed(nil, error))
                return Iterator(anchor: nil, element: element, reading: nil)
            }
        }

        /// One iteration, as ``ObservedSequence`` shows: it observes from its creation until its last copy is released.
        /// Copies share the elements: each element goes to one copy.
        public struct Iterator: AsyncIteratorProtocol, AsyncSequence, Sendable {
            /// `nil`: observing could not start.
            let anchor: ObservationAnchor?
            let element: @Sendable (Item) -> Element?
            let reading: (any IterationReading<Element>)?

            /// The next element, as soon as there is one. `nil`: the task was cancelled or observing has failed; every
            /// later call returns `nil`, too.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
                while true {
                    if let reading, !Task.isCancelled, let element = reading.next() { return element }
                    guard let item = await anchor?.next(isolation: actor) else { return nil }
                    if let element = take(item) { return element }
                }
            }

            /// The item's element. `nil`: there is none, or `reading` has the elements.
            private func take(_ item: Item) -> Element? {
                guard let reading else { return element(item) }
                reading.take(item)
                return nil
            }

            /// The next element, as soon as there is one, and those after it that wait already, `count` at most: fewer
            /// suspensions if there is a backlog.
            ///
            /// ```swift
            /// struct Sample: SharedNotificationCenter.BitwiseMessage { var value: Double }
            /// func count() async throws {
            ///     var samples = try SharedNotificationCenter.default.messages(of: Sample.self).register()
            ///     while let slice = await samples.next(atMost: 100) { print(slice.count, "samples") }
            /// }
            /// ```
            ///
            /// - Parameters:
            ///   - count: 1 or more; less counts as 1.
            ///   - actor: the caller's isolation: the call stays in it.
            /// - Returns: at least one element. `nil`: as ``next(isolation:)``.
            public mutating func next(
                atMost count: Int, isolation actor: isolated (any Actor)? = #isolation
            ) async -> [Element]? {
                guard let first = await next(isolation: actor) else { return nil }
                var elements = [first]
                while elements.count < count {
                    if let element = reading?.next() {
                        elements.append(element)
                        continue
                    }
                    let items = anchor?.observation.pullWaiting(reading == nil ? count - elements.count : 1) ?? []
                    if items.isEmpty { break }
                    elements += items.compactMap(take)
                }
                return elements
            }

            /// Ends this iteration after everything that is posted before this call: later calls of `next` return that,
            /// and then `nil`. From any thread, also during a call of `next`. For TidingsService.
            package func finish() {
                if let observation = anchor?.observation { observation.dispatcher.finish(observation) }
            }

            /// This iteration: a loop over it goes on with the elements that are left.
            public func makeAsyncIterator() -> Self { self }
        }
    }
}

/// The state of an iteration in which an item may be several elements, or none, depending on earlier items.
protocol IterationReading<Element>: Sendable {
    associatedtype Element: Sendable
    /// Called once, after the observer was registered.
    func begin()
    func take(_ item: Item)
    /// The next element that is due before another item is taken.
    func next() -> Element?
}
