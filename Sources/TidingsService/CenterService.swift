#if Service
    public import ServiceLifecycle
    public import Tidings
    internal import TidingsAdministration

    extension SharedNotificationCenter: Service {
        /// Runs until a graceful shutdown, then posts the deferred posts. So a `ServiceGroup` ends if its center does.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter(named: "com.example.player")
        /// let logger = Logger(label: "player")
        /// let group = ServiceGroup(services: [center], gracefulShutdownSignals: [.sigterm], logger: logger)
        /// try await group.run()
        /// ```
        ///
        /// A `ServiceGroup` shuts its services down in the reverse order of the list: put the center first, so that it
        /// is shut down last, and posts what the other services have deferred. If the center ends and this object
        /// follows its name (`Configuration.followsName`), it goes on. It sleeps, and uses an entry of the center for a
        /// name.
        ///
        /// - Throws: ``SharedNotificationError``: `.removed` if the center has ended; as for any observer `.noSpace`,
        ///   `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
        public func run() async throws {
            defer { drainQueue() }
            // No process posts under this name: the end of the center is all that is observed.
            for await delivery in try deliveries(ofNames: ["tidings.service"]).register().endOnGracefulShutdown() {
                if case .centerEnded(let error) = delivery { throw error }
            }
        }

        /// Whether this center object works, for a health check.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter(named: "com.example.player")
        /// let health = center.health
        /// print(health.isAttached ? "ok, \(health.behind) behind" : "no center")
        /// ```
        public struct Health: Hashable, Sendable {
            /// Whether the center exists, and this object is a participant of it. False in a forked child.
            public var isAttached: Bool
            /// As ``SharedNotificationCenter/incarnation``: it changes when the object goes on in another center.
            public var incarnation: UInt64
            /// How many positions of the order, of all names, the slowest lossless observer or ``NotificationService``
            /// of this object is behind. At the number of the ring's slots, a lossless observer holds posts back;
            /// another one misses notifications.
            public var behind: Int
        }

        /// The health of this center object now, as ``Health`` shows. Asks the kernel, and walks along the center's
        /// tables. Never waits.
        public var health: Health {
            var health = Health(isAttached: !hasEnded, incarnation: incarnation, behind: 0)
            guard let end = try? statistics.posted else {
                health.isAttached = false
                return health
            }
            health.behind = max(ownBehind, Progress.lag(of: self, at: end))
            return health
        }

        /// How far the slowest lossless observer of this object is behind.
        var ownBehind: Int { (try? participants.first { $0.isOwn }?.behind) ?? 0 }
    }
#endif
