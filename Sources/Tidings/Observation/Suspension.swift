// Suspension of a center object: its observers with a ``SuspensionBehavior`` hold back what arrives until it is
// resumed.

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
    ///
    /// See ``SharedNotificationCenter/isSuspended``.
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

        /// The last notification of each name and object (subject) waits. For an example see ``SuspensionBehavior``.
        ///
        /// At most `limit` notifications wait (at least 1; at most 64 MiB in total). Beyond that, the oldest waiting
        /// notifications are dropped, and reported as missed before the remaining ones.
        public static func coalesce(limit: Int) -> SuspensionBehavior {
            SuspensionBehavior(kind: .coalesce(limit: limit))
        }

        /// Notifications wait, at most `limit` (at least 1; at most 64 MiB in total). For an example see
        /// ``SuspensionBehavior``.
        ///
        /// Beyond that, the oldest are dropped, and reported as missed before the remaining ones.
        public static func hold(limit: Int) -> SuspensionBehavior {
            SuspensionBehavior(kind: .hold(limit: limit))
        }
    }

    /// Whether this center object holds back notifications from its observers with a ``SuspensionBehavior``.
    ///
    /// Its observers without a behavior, other center objects and other processes are not affected.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: .all, suspensionBehavior: .hold) { print($0.name) }
    /// center.isSuspended = true
    /// try center.post(name: "com.example.changed")                    // waits
    /// // delivered, after the notification that waits
    /// try center.post(name: "com.example.urgent", options: .init(deliverImmediately: true))
    /// center.isSuspended = false
    /// ```
    ///
    /// Promise: after this property is set to true, each observer's behavior applies to what arrives. A closure that is
    /// running continues, and notifications that already waited for its queue are delivered. After the property is set
    /// to false, the notifications that were held back are delivered in order, before later notifications. An observer
    /// without a queue receives them on a queue of its own. An observer that is added during suspension is suspended,
    /// too.
    ///
    /// For a lossless observer, posts are held back, so that no waiting notification is dropped. Notifications that its
    /// behavior drops or coalesces are lost by request.
    ///
    /// Setting the property twice has the effect of setting it once. It is also true while ``suspend()`` has been
    /// called more often than ``resume()``. In a forked child, the object is not suspended.
    public var isSuspended: Bool {
        get { suspension.isSuspended }
        set { suspension.change { $0.isSet = newValue } }
    }

    /// Suspends, as setting ``isSuspended`` does, until ``resume()`` has been called as often as this. From any thread;
    /// for an example see ``SuspensionBehavior``.
    public func suspend() {
        suspension.change { $0.depth += 1 }
    }

    /// Ends one ``suspend()``. From any thread; for an example see ``SuspensionBehavior``.
    ///
    /// The last call delivers what was held back, unless ``isSuspended`` was set to true. A call without a
    /// ``suspend()`` has no effect.
    public func resume() {
        suspension.change { $0.depth = max(0, $0.depth - 1) }
    }
}

/// Whether a center object is suspended, and which observations it suspends.
final class Suspension: Sendable {
    struct State {
        fileprivate(set) var isSet = false
        fileprivate(set) var depth = 0
        fileprivate var observations: [Reference] = []
        /// At this count of references, those to released observations are removed.
        fileprivate var limit = 16

        fileprivate var isSuspended: Bool { isSet || depth > 0 }
    }

    fileprivate struct Reference: Sendable {
        weak let observation: Observation?
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
            return state.observations.compactMap { reference in
                guard let observation = reference.observation else { return nil }
                alive.append(observation)
                guard !observation.dispatcher.isForked else { return nil }
                let keeps = observation.dispatcher.lock.withLock { () -> ObservationMachine.Keeps in
                    if before {
                        // A leader may wait for room in the held notifications.
                        observation.dispatcher.lock.wakeAll()
                        return observation.resumes()
                    }
                    observation.machine.suspend()
                    return .ignore
                }
                return keeps == .keptAndDrain ? observation : nil
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
                state.observations.removeAll { reference in
                    guard let observation = reference.observation else { return true }
                    alive.append(observation)
                    return false
                }
                state.limit = max(16, 2 * state.observations.count)
            }
            state.observations.append(Reference(observation: anchor.observation))
            return anchor
        }
    }
}
