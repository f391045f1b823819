#if Service
    internal import Metrics
    public import ServiceLifecycle
    public import Tidings

    /// Calls a closure for every message of a type, as a service of a `ServiceGroup`.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// let changes = NotificationService(center, of: TrackChanged.self) { change, envelope in
    ///     print("#\(envelope.sequence) \(change.title)")
    /// }
    /// let logger = Logger(label: "player")
    /// let group = ServiceGroup(services: [changes], gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()
    /// ```
    ///
    /// Promise, while ``run()`` runs:
    /// - The closure receives every matching message that is posted after `run()` has begun to observe, once and in
    ///   order, one call after the other. A retained message, if there is one, comes first.
    /// - On a graceful shutdown, the closure receives everything that was posted before the shutdown was triggered.
    ///   Then the deferred posts of the center object are posted (`enqueue` of TidingsFoundation), and `run()` returns.
    /// - If the center ends, `run()` throws, unless the object follows its name
    ///   (`SharedNotificationCenter.Configuration.followsName`): it then goes on in the next center.
    /// - An error that the closure throws ends only that call. It is counted, and reported to `onFailure`.
    /// - Each call runs in a span of its own (see ``SpanRelation``). With the tracer of swift-distributed-tracing that
    ///   does nothing, it runs without one.
    ///
    /// ``CenterMetrics`` lists its metrics, which it reports on its own.
    public final class NotificationService<M: SharedNotificationCenter.Message>: Service {
        private let center: SharedNotificationCenter
        private let options: SharedNotificationCenter.ObserverOptions
        private let bufferSize: Int
        private let spans: SpanRelation
        private let onFailure: (@Sendable (any Error, SharedNotificationCenter.Envelope) -> Void)?
        private let handler: @Sendable (M, SharedNotificationCenter.Envelope) async throws -> Void

        /// Creates the service. It observes nothing before ``run()``.
        ///
        /// - Parameters:
        ///   - center: the center object; the service keeps it.
        ///   - type: the message type; the service observes its `name`.
        ///   - options: the subject, the start, and what happens to losses. What is not reported there goes to the
        ///     center's `onDiagnostic`, and so to ``SharedNotificationCenter/log(to:burst:perSecond:)``. A queue, an
        ///     executor and an owner have no effect.
        ///   - bufferSize: how many messages (at least 1; at most 64 MiB in total) may wait for the closure. A full
        ///     buffer drops the oldest, and reports them as missed. With `lossless`, posts are held back instead.
        ///   - spans: how the span of a call refers to that of the post.
        ///   - onFailure: receives each error of the closure, in its context. `nil`: it is only counted, and recorded
        ///     in the span.
        ///   - handler: receives each message.
        public init(
            _ center: SharedNotificationCenter, of type: M.Type = M.self,
            options: SharedNotificationCenter.ObserverOptions = .init(), bufferSize: Int = 1024,
            spans: SpanRelation = .linked,
            onFailure: (@Sendable (any Error, SharedNotificationCenter.Envelope) -> Void)? = nil,
            using handler: @escaping @Sendable (M, SharedNotificationCenter.Envelope) async throws -> Void
        ) {
            self.center = center
            self.options = options
            self.bufferSize = bufferSize
            self.spans = spans
            self.onFailure = onFailure
            self.handler = handler
        }

        /// Observes until a graceful shutdown, as ``NotificationService`` promises. For a `ServiceGroup`.
        ///
        /// If the task is cancelled, the running call of the closure is cancelled with it, no other call follows, and
        /// the function returns. Deferred posts are posted in this case, too. Call it once at a time.
        ///
        /// - Throws: ``SharedNotificationError``: `.removed` if the center has ended; as for any observer
        ///   `.invalidName`, `.noSpace`, `.tooManyObservers`, `.notPermitted`, `.otherIncarnation`, `.forked`,
        ///   `.system`.
        public func run() async throws {
            let sequence = center.serviceDeliveries(of: M.self, options: options, bufferSize: bufferSize)
            let deliveries = try sequence.register()
            let meters = HandlerMeters(center.name, M.name)
            let progress = Progress(center)
            defer {
                #if MUTANT_SERVICE_DEFERRED_LOST  // Found by: service aShutdownPostsWhatWasDeferred
                    if !isMutant("SERVICE_DEFERRED_LOST") { center.drainQueue() }
                #else
                    // It waits for posts of this process, for microseconds each.
                    center.drainQueue()
                #endif
            }
            for await delivery in deliveries.endOnGracefulShutdown() {
                switch delivery {
                case .message(let message, let envelope, let waited):
                    progress.begins(envelope)
                    meters.delivered(envelope, waited: waited)
                    await handle(message, envelope, meters)
                    progress.ends()
                case .reopened: break
                case .ended(let error):
                    #if MUTANT_SERVICE_END_IGNORED  // Found by: service theServiceThrowsIfItsCenterEnds
                        if isMutant("SERVICE_END_IGNORED") { return }
                    #endif
                    throw error
                }
                if Task.isCancelled { return }
            }
        }

        private func handle(
            _ message: M, _ envelope: SharedNotificationCenter.Envelope, _ meters: HandlerMeters
        ) async {
            let begin = ContinuousClock.now
            do {
                try await spans.withSpan(of: M.name, envelope) { try await handler(message, envelope) }
            } catch {
                meters.failures.increment()
                onFailure?(error, envelope)
            }
            meters.handled.record(duration: begin.duration(to: .now))
        }
    }

    /// The metrics of one `NotificationService`: one set for each service, so their number is bounded by the program.
    struct HandlerMeters: Sendable {
        private let count: Counter
        let failures: Counter
        let handled: Timer
        private let latency: Timer
        private let wake: Timer

        init(_ center: String, _ name: SharedNotificationCenter.Name) {
            let labels = [("center", center), ("name", name.rawValue)]
            count = Counter(label: "tidings_delivered_total", dimensions: labels)
            failures = Counter(label: "tidings_handler_failures_total", dimensions: labels)
            handled = Timer(label: "tidings_handler_seconds", dimensions: labels, preferredDisplayUnit: .seconds)
            latency = Timer(label: "tidings_delivery_seconds", dimensions: labels, preferredDisplayUnit: .seconds)
            wake = Timer(
                label: "tidings_wake_to_closure_seconds", dimensions: labels, preferredDisplayUnit: .seconds)
        }

        /// The time of the post is that of another process's clock, and of a retained value it says nothing of the
        /// delivery.
        func delivered(_ envelope: SharedNotificationCenter.Envelope, waited: UInt64) {
            count.increment()
            wake.recordNanoseconds(waited)
            guard !envelope.isRetained else { return }
            let now = Wall.nanoseconds
            latency.recordNanoseconds(now > envelope.postedAtNanoseconds ? now - envelope.postedAtNanoseconds : 0)
        }
    }
#endif
