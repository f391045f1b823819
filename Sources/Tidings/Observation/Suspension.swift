extension SharedNotificationCenter {
    /// What becomes of notifications that come for an observer while its center object is suspended.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: "com.example.changed", object: nil, suspensionBehavior: .hold(limit: 100)) { print($0.name) }
    /// center.suspend()
    /// for _ in 0..<3 { try center.post(name: "com.example.changed") }
    /// center.resume()                                                         // now they come
    /// ```
    ///
    /// See ``SharedNotificationCenter/isSuspended``.
    public struct SuspensionBehavior: Hashable, Sendable {
        /// `nil`: suspension makes no difference.
        let kind: HeldItems.Kind?

        /// They are dropped.
        public static let drop = SuspensionBehavior(kind: .drop)
        /// The last one of each name and object (subject) waits, 1,024 of these at most.
        public static let coalesce = coalesce(limit: 1024)
        /// They wait, 1,024 at most.
        public static let hold = hold(limit: 1024)
        /// They are delivered as if it were not suspended.
        public static let deliverImmediately = SuspensionBehavior(kind: nil)

        /// The last one of each name and object (subject) waits, at most so many (at least 1; 64 MiB in all). Of more names and objects those whose
        /// last one is the oldest fall out, and are reported as missed in front of the rest. For an example see ``SuspensionBehavior``.
        public static func coalesce(limit: Int) -> SuspensionBehavior {
            SuspensionBehavior(kind: .coalesce(limit: limit))
        }

        /// They wait, at most so many (at least 1; 64 MiB in all). Of more the oldest fall out, and are reported as missed in front of the rest. For
        /// an example see ``SuspensionBehavior``.
        public static func hold(limit: Int) -> SuspensionBehavior {
            SuspensionBehavior(kind: .hold(limit: limit))
        }
    }

    /// Whether notifications are held back from this center object's observers with a ``SuspensionBehavior``; other observers, other center
    /// objects and other processes do not notice.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: nil, object: nil, suspensionBehavior: .hold) { print($0.name) }
    /// center.isSuspended = true
    /// try center.post(name: "com.example.changed")                            // waits
    /// try center.post(name: "com.example.urgent", deliverImmediately: true)   // comes, and before it what waits
    /// center.isSuspended = false
    /// ```
    ///
    /// Promise: when it has been set to true, what arrives from then on is treated as each observer's behavior says; a closure that is running,
    /// and what waited for its queue before, go on. When it is set to false, what was held back is delivered, in order and before
    /// whatever comes later; an observer without a queue gets it on a queue of its own. An observer added while suspended is so too.
    ///
    /// A lossless observer holds posters back rather than have anything fall out of what waits for it. What its behavior drops or coalesces goes:
    /// that was asked for.
    ///
    /// Setting it twice is setting it once. It is true also while ``suspend()`` has been called more often than ``resume()``.
    public var isSuspended: Bool {
        get { suspension.isSuspended }
        set { suspension.change { $0.isSet = newValue } }
    }

    /// Suspends, as setting ``isSuspended`` does, until ``resume()`` has been called as often. From any thread; for an example see
    /// ``SuspensionBehavior``.
    public func suspend() {
        suspension.change { $0.depth += 1 }
    }

    /// Ends one ``suspend()``. The last one delivers what was held back, unless ``isSuspended`` was set to true. One too many does nothing. From any
    /// thread; for an example see ``SuspensionBehavior``.
    public func resume() {
        suspension.change { $0.depth = max(0, $0.depth - 1) }
    }
}

/// Whether a center object is suspended, and those whom that concerns.
final class Suspension: Sendable {
    struct State {
        fileprivate(set) var isSet = false
        fileprivate(set) var depth = 0
        fileprivate var observations: [Reference] = []
        /// When so many, those who are gone are forgotten.
        fileprivate var limit = 16

        fileprivate var isSuspended: Bool { isSet || depth > 0 }
    }

    fileprivate struct Reference: Sendable {
        weak let observation: Observation?
    }

    // Held while the observations' own locks are taken, never the other way round, and no user code runs with it.
    private let state = Locked(State())

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
                        // A leader that waits for room among what is held back.
                        observation.dispatcher.lock.wakeAll()
                        return observation.machine.resume()
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
