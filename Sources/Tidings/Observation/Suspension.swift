extension SharedNotificationCenter {
    /// What happens to notifications that arrive for an observer while its center object is suspended.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: "com.example.changed", suspensionBehavior: .hold(limit: 100)) {
    ///     print($0.name)
    /// }
    /// center.suspend()
    /// for _ in 0..<3 { try center.post(name: "com.example.changed") }
    /// center.resume()                                                         // now they come
    /// ```
    public struct SuspensionBehavior: Hashable, Sendable {
        /// `nil`: suspension has no effect.
        let kind: HeldItems.Kind?

        /// Notifications are dropped.
        public static let drop = SuspensionBehavior(kind: .drop)
        /// The last notification of each name and object (subject) waits, at most 1,024 in total.
        public static let coalesce = coalesce(limit: 1024)
        /// Notifications wait, at most 1,024.
        public static let hold = hold(limit: 1024)
        /// Notifications are delivered as if the center object were not suspended.
        public static let deliverImmediately = SuspensionBehavior(kind: nil)

        /// The last notification of each name and object (subject) waits; given as ``SuspensionBehavior`` shows.
        /// At most `limit` notifications wait (at least 1; at most 64 MiB in total). Beyond that, the oldest waiting
        /// notifications are dropped, and reported as missed before the remaining ones.
        public static func coalesce(limit: Int) -> SuspensionBehavior {
            SuspensionBehavior(kind: .coalesce(limit: limit))
        }

        /// Notifications wait, at most `limit` (at least 1; at most 64 MiB in total), as ``SuspensionBehavior`` shows.
        /// Beyond that, the oldest are dropped, and reported as missed before the remaining ones.
        public static func hold(limit: Int) -> SuspensionBehavior {
            SuspensionBehavior(kind: .hold(limit: limit))
        }
    }
}

/// Whether a center object is suspended, and which observations it suspends.
final class Suspension: Sendable {
    struct State {
        var isSet = false
        var depth = 0
        fileprivate var observations = WeakObservations()
        /// At this count of references, those to released observations are removed.
        fileprivate var limit = 16

        fileprivate var isSuspended: Bool { isSet || depth > 0 }
    }

    // At a fork, another thread of the parent may hold the lock, so a forked child has a state of its own.
    private let local = ForkLocal { Locked(State()) }
    // Lock order: this lock, then an observation's lock. No user code runs with this lock held.
    private var state: Locked<State> { local.object }

    var isSuspended: Bool { state.withLock { $0.isSuspended } }

    func change(_ body: (inout State) -> Void) {
        // Released without the lock: one may be the last reference.
        var alive: [Observation] = []
        let resumed = state.withLock { state -> [Observation] in
            let before = state.isSuspended
            body(&state)
            guard state.isSuspended != before else { return [] }
            alive = state.observations.all
            return alive.filter { observation in
                guard !observation.dispatcher.isForked else { return false }
                return observation.dispatcher.lock.withLock {
                    guard before else {
                        observation.machine.suspend()
                        return false
                    }
                    // A leader may wait for room in the held notifications.
                    observation.dispatcher.lock.wakeAll()
                    return observation.resumes() == .keptAndDrain
                }
            }
        }
        for observation in resumed { observation.startDrain() }
        withExtendedLifetime(alive) {}
    }

    func add(
        _ behavior: SharedNotificationCenter.SuspensionBehavior,
        observe: (HeldItems?, Bool) throws(SharedNotificationError) -> ObservationAnchor
    ) throws(SharedNotificationError) -> ObservationAnchor {
        guard let kind = behavior.kind else { return try observe(nil, false) }
        var alive: [Observation] = []
        defer { withExtendedLifetime(alive) {} }
        return try state.withLock { (state) throws(SharedNotificationError) in
            let anchor = try observe(HeldItems(kind), state.isSuspended)
            if state.observations.count >= state.limit {
                alive = state.observations.prune()
                state.limit = max(16, 2 * state.observations.count)
            }
            state.observations.add(anchor.observation)
            return anchor
        }
    }
}
