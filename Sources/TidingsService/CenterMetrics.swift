#if Service
    public import Metrics
    public import ServiceLifecycle
    public import Tidings
    internal import TidingsAdministration

    /// Reads the numbers of a center at intervals, and reports them to swift-metrics, as a service of a `ServiceGroup`.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// let metrics = try CenterMetrics(center, names: ["com.example.player.trackChanged"], every: .seconds(10))
    /// let group = ServiceGroup(services: [metrics], logger: Logger(label: "player"))
    /// try await group.run()
    /// ```
    ///
    /// Cost: a post executes no instruction for it, except under one of `names`: there it finds an observer that never
    /// sleeps, which takes under 2 ns. At each interval, this object walks along the center's tables once, and copies
    /// what was posted under `names`, at most the ring.
    ///
    /// Each metric has the label `center`. A counter begins with 0 when this object is made.
    ///
    /// Counters:
    /// - `tidings_posted_total`: positions of the order that all processes have used; not every position is a
    ///   notification.
    /// - `tidings_name_posted_total`: posts of all processes under one name (label `name`, only of `names`).
    /// - `tidings_revoked_total`: posts of all processes that were revoked, and posted again.
    /// - `tidings_missed_total`, `tidings_undecodable_total`: notifications that observers of this center object
    ///   missed, and payloads that did not decode for them.
    ///
    /// Gauges:
    /// - `tidings_up`: 1 if this process is attached to the center, 0 if the center has ended.
    /// - `tidings_observer_lag`: positions that the slowest ``NotificationService`` of this center object is behind.
    /// - `tidings_lossless_lag`: positions that its slowest lossless observer is behind. At the ring's size, posts
    ///   wait.
    /// - `tidings_participants`, `tidings_observers`, `tidings_observers_asleep`, `tidings_observers_lossless`,
    ///   `tidings_names`: of all processes, now.
    /// - `tidings_retained_values`: names with a retained value. `tidings_chunks_used`: payloads outside the ring.
    /// - `tidings_memory_bytes`: memory that the center takes.
    ///
    /// The numbers of the center are the same in all its processes: take their maximum, not their sum.
    ///
    /// A ``NotificationService`` reports, without this object and with the labels `center` and `name`:
    /// - `tidings_delivered_total`, `tidings_handler_failures_total`: calls of its closure, and those that threw.
    /// - `tidings_wake_to_closure_seconds`: a timer, from the moment at which this process took the message from the
    ///   ring to the closure.
    /// - `tidings_delivery_seconds`: a timer, from the post to the closure. Exact only for a poster's first post in a
    ///   kernel tick of 1 to 4 ms, and if both processes have one clock.
    /// - `tidings_handler_seconds`: a timer, of the closure.
    public final class CenterMetrics: Service {
        private let center: SharedNotificationCenter
        private let interval: Duration
        private let instruments: Instruments
        private let posts: SharedNotificationCenter.PostCounter?
        private let last: Locked<Reading>

        private struct Reading: Sendable {
            var incarnation: UInt64 = 0
            var posted: UInt64 = 0
            var revoked: UInt64 = 0
            var missed = 0
            var undecodable = 0
        }

        /// The most names in `names`: bounds the number of time series.
        public static var maximumNames: Int { 100 }

        /// Begins to count.
        ///
        /// - Parameters:
        ///   - center: the center object; this object keeps it.
        ///   - names: the names whose posts are counted one by one, at most ``maximumNames``. They use an observer slot
        ///     of the center. If the center ends, they are not counted in the next one.
        ///   - interval: how often the numbers are read and reported, at least a millisecond.
        ///   - factory: what reports the metrics; by default the program's (`MetricsSystem.bootstrap`).
        /// - Throws: ``SharedNotificationError``: `.invalidArgument` (too many names, or the interval); with names
        ///   `.invalidName`, `.noSpace`, `.tooManyObservers`, `.removed`, `.forked`, `.system`.
        public init(
            _ center: SharedNotificationCenter, names: [SharedNotificationCenter.Name] = [],
            every interval: Duration = .seconds(5), factory: any MetricsFactory = MetricsSystem.factory
        ) throws(SharedNotificationError) {
            let names = Set(names)
            #if MUTANT_SERVICE_NAMES_UNBOUNDED  // Found by: service theNumberOfNamesIsBounded
                let maximumNames = isMutant("SERVICE_NAMES_UNBOUNDED") ? Int.max : CenterMetrics.maximumNames
            #else
                let maximumNames = CenterMetrics.maximumNames
            #endif
            guard names.count <= maximumNames else {
                throw SharedNotificationError(
                    .invalidArgument,
                    message: """
                        can't count the posts of \(names.count) names of center "\(center.name)"; pass at most \
                        \(maximumNames)
                        """)
            }
            guard interval >= .milliseconds(1) else {
                throw SharedNotificationError(
                    .invalidArgument,
                    message: """
                        can't read the numbers of center "\(center.name)" every \(interval); pass at least a millisecond
                        """)
            }
            self.center = center
            self.interval = interval
            instruments = Instruments(factory, center.name, names)
            posts = try names.isEmpty ? nil : center.postCounter(of: Array(names))
            last = Locked(Reading())
            if let (reading, _) = try? read() { last.withLock { $0 = reading } }
        }

        /// Reads and reports at each interval, and once more on a graceful shutdown or a cancellation. For a
        /// `ServiceGroup`.
        ///
        /// ``CenterMetrics`` has an example. An error of the center does not end the service: `tidings_up` is 0 then.
        ///
        /// - Throws: nothing.
        public func run() async throws {
            await cancelWhenGracefulShutdown { [self] in
                while !Task.isCancelled {
                    collect()
                    try? await Task.sleep(for: interval)
                }
            }
            collect()
        }

        /// Reads the numbers, and reports them now. For a program that has no `ServiceGroup`, and for tests.
        ///
        /// ```swift
        /// let metrics = try CenterMetrics(SharedNotificationCenter.default)
        /// metrics.collect()
        /// ```
        public func collect() {
            if let counts = try? posts?.count() {
                for (name, count) in counts { instruments.posted[name]?.increment(by: count) }
            }
            guard let (reading, numbers) = try? read() else { return instruments.up.record(0) }
            let before = last.withLock { last in
                defer { last = reading }
                return last
            }
            // Another center counts anew.
            let isSame = reading.incarnation == before.incarnation
            instruments.total.increment(by: Self.difference(reading.posted, isSame ? before.posted : 0))
            instruments.revoked.increment(by: Self.difference(reading.revoked, isSame ? before.revoked : 0))
            instruments.missed.increment(by: max(0, reading.missed - before.missed))
            instruments.undecodable.increment(by: max(0, reading.undecodable - before.undecodable))
            instruments.up.record(center.hasEnded ? 0 : 1)
            instruments.lag.record(Progress.lag(of: center, at: reading.posted))
            instruments.losslessLag.record(center.ownBehind)
            instruments.participants.record(numbers.participants)
            instruments.observers.record(numbers.observers)
            instruments.asleep.record(numbers.observersAsleep)
            instruments.lossless.record(numbers.observersLossless)
            instruments.names.record(numbers.names)
            instruments.chunks.record(numbers.chunks)
            instruments.memory.record(Int64(clamping: numbers.memory))
            if let values = try? center.retainedValueCount { instruments.values.record(values) }
        }

        private func read() throws(SharedNotificationError) -> (Reading, SharedNotificationCenter.Statistics) {
            let numbers = try center.statistics
            let reading = Reading(
                incarnation: center.incarnation, posted: numbers.posted, revoked: numbers.revoked,
                missed: numbers.missed, undecodable: numbers.undecodable)
            return (reading, numbers)
        }

        /// A peer can write any number into the center: a counter never falls.
        private static func difference(_ now: UInt64, _ before: UInt64) -> Int64 {
            now > before ? Int64(clamping: now - before) : 0
        }
    }

    /// The metrics of one center.
    private struct Instruments: Sendable {
        let total, missed, undecodable, revoked: Counter
        let posted: [SharedNotificationCenter.Name: Counter]
        let up, lag, losslessLag, participants, observers, asleep, lossless, names, chunks, values, memory: Gauge

        init(_ factory: any MetricsFactory, _ center: String, _ names: Set<SharedNotificationCenter.Name>) {
            let label = ("center", center)
            func counter(_ name: String) -> Counter { Counter(label: name, dimensions: [label], factory: factory) }
            func gauge(_ name: String) -> Gauge { Gauge(label: name, dimensions: [label], factory: factory) }
            total = counter("tidings_posted_total")
            missed = counter("tidings_missed_total")
            undecodable = counter("tidings_undecodable_total")
            revoked = counter("tidings_revoked_total")
            posted = Dictionary(
                uniqueKeysWithValues: names.map {
                    let labels = [label, ("name", $0.rawValue)]
                    return ($0, Counter(label: "tidings_name_posted_total", dimensions: labels, factory: factory))
                })
            up = gauge("tidings_up")
            lag = gauge("tidings_observer_lag")
            losslessLag = gauge("tidings_lossless_lag")
            participants = gauge("tidings_participants")
            observers = gauge("tidings_observers")
            asleep = gauge("tidings_observers_asleep")
            lossless = gauge("tidings_observers_lossless")
            self.names = gauge("tidings_names")
            chunks = gauge("tidings_chunks_used")
            values = gauge("tidings_retained_values")
            memory = gauge("tidings_memory_bytes")
        }
    }
#endif
