// The registrations of targets with a center object.

internal import Dispatch

/// Targets and their registrations. The table belongs to one center object, and the registrations end with it.
///
/// A target is found by its address. After its release, another object may have this address, so a registration whose
/// target is gone is ignored.
final class TargetTable: Sendable {
    /// A registration is identified by its target, name, type of payload, and subject.
    struct RegistrationKey: Hashable {
        var name: SharedNotificationCenter.Name
        var type: ObjectIdentifier
        var subject: ByteText?
    }

    /// A target and its action. A registration's closure refers to both only through this object.
    private final class Registration<Target: AnyObject & Sendable, Action: Sendable>: @unchecked Sendable {
        // Sendable: only the action changes, behind a lock. Loading a weak reference excludes its clearing.
        private weak var object: Target?
        private let action: Locked<Action>
        private let registrationKey: RegistrationKey
        private weak let table: TargetTable?
        private let address: ObjectIdentifier

        fileprivate init(_ target: Target, _ action: Action, _ registrationKey: RegistrationKey, in table: TargetTable)
        {
            object = target
            address = ObjectIdentifier(target)
            self.action = Locked(action)
            self.registrationKey = registrationKey
            self.table = table
        }

        /// The current target and action. `nil`: the target has been released, and the registration is removed here.
        var current: (Target, Action)? {
            if let object { return (object, action.withLock { $0 }) }
            table?.remove(address, registrationKey, of: self)
            return nil
        }

        fileprivate func belongs(to target: Target) -> Bool { object === target }

        fileprivate func exchange(_ new: Action) {
            // Release the previous action without the lock.
            let old = action.withLock { action in
                defer { action = new }
                return action
            }
            withExtendedLifetime(old) {}
        }
    }

    private struct Entry: Sendable {
        let registration: any AnyObject & Sendable
        let anchor: ObservationAnchor
    }

    private let generation = Forking.generation
    private let entries = Locked<[ObjectIdentifier: [RegistrationKey: Entry]]>([:])
    // Lock order: `entries`, then this lock, then a dispatcher's lock.
    private let ending = Locked(EndingRegistrations<RegistrationKey>())

    /// The function that is called with a target, and its context.
    enum Action<Target: AnyObject & Sendable> {
        case closure(DispatchQueue?, @Sendable (Target, Arrival) -> Void)
        case mainActor(@MainActor @Sendable (Target, Arrival) -> Void)
        case task(@Sendable (Target, Arrival) async -> Void)
    }

    func add<Target: AnyObject & Sendable>(
        _ target: Target, to core: CenterCore, _ subscription: Subscription, of type: Any.Type,
        onMissed: MissedHandler?,
        as action: Action<Target>
    ) throws(SharedNotificationError) {
        switch action {
        case .closure(let queue, let action):
            try register(target, action, core, subscription, type, onMissed) { registration in
                .closure(queue) { arrival in
                    if let (target, action) = registration.current { action(target, arrival) }
                }
            }
        case .mainActor(let action):
            try register(target, action, core, subscription, type, onMissed) { registration in
                .mainActor { arrival in
                    if let (target, action) = registration.current { action(target, arrival) }
                }
            }
        case .task(let action):
            try register(target, action, core, subscription, type, onMissed) { registration in
                .task(nil) { arrival in
                    if let (target, action) = registration.current { await action(target, arrival) }
                }
            }
        }
    }

    /// Registers, or replaces the action of an existing registration. Observation begins with the table's lock held,
    /// and runs no user code.
    private func register<Target: AnyObject & Sendable, Action: Sendable>(
        _ target: Target, _ action: Action, _ core: CenterCore, _ subscription: Subscription, _ type: Any.Type,
        _ onMissed: MissedHandler?, as manner: (Registration<Target, Action>) -> Manner
    ) throws(SharedNotificationError) {
        try core.refuseIfForked()
        let address = ObjectIdentifier(target)
        // A target's subscription has exactly one name.
        let registrationKey = RegistrationKey(
            name: subscription.names![0], type: ObjectIdentifier(type),
            subject: subscription.subject.map { ByteText($0) })
        while true {
            let stale = try entries.withLock { (entries) throws(SharedNotificationError) -> Entry? in
                if let entry = entries[address]?[registrationKey] {
                    if !entry.anchor.isCancelled, let same = entry.registration as? Registration<Target, Action>,
                        same.belongs(to: target)
                    {
                        same.exchange(action)
                        return nil
                    }
                    // The entry is being removed, or its object has been released, or its action runs in another
                    // context than the new one. Its action may be running. A thread that removes the target from now on
                    // does not find the entry, but must still wait for the action.
                    entry.anchor.observation.endRuns()
                    ending.withLock { $0.add(address, registrationKey, entry.anchor.observation) }
                    return take(address, registrationKey, from: &entries)
                }
                let registration = Registration(target, action, registrationKey, in: self)
                let anchor = try core.observe(subscription, onMissed: onMissed, of: address, as: manner(registration))
                entries[address, default: [:]][registrationKey] = Entry(registration: registration, anchor: anchor)
                return nil
            }
            guard let stale else { return }
            stale.anchor.cancel(waiting: true)
        }
    }

    /// Ends the matching registrations of the object at this address.
    func remove(_ target: ObjectIdentifier, where isMeant: (RegistrationKey) -> Bool) {
        // In a forked child, no closure runs, and another thread of the parent may have held the lock.
        guard generation == Forking.generation else { return }
        let meant = entries.withLock { $0[target]?.filter { isMeant($0.key) } ?? [:] }
        let alive = ending.withLock { $0.forgetEnded() }
        withExtendedLifetime(alive) {}
        // Without the lock: this waits for closures, which may add and remove targets.
        Observation.cancelAll(
            meant.values.map(\.anchor.observation) + ending.withLock { $0.of(target, where: isMeant) })
        // Remove the entries only now: a concurrent removal of the target must find them, and wait.
        for (registrationKey, entry) in meant {
            ending.withLock { $0.add(target, registrationKey, entry.anchor.observation) }
            _ = take(target, registrationKey, of: entry.registration)
        }
    }

    /// Ends a registration whose target has been released.
    private func remove(_ target: ObjectIdentifier, _ registrationKey: RegistrationKey, of registration: AnyObject) {
        take(target, registrationKey, of: registration)?.anchor.cancel(waiting: false)
    }

    private func take(_ target: ObjectIdentifier, _ registrationKey: RegistrationKey, of registration: AnyObject)
        -> Entry?
    {
        entries.withLock { entries in
            guard entries[target]?[registrationKey]?.registration === registration else { return nil }
            return take(target, registrationKey, from: &entries)
        }
    }

    private func take(
        _ target: ObjectIdentifier, _ registrationKey: RegistrationKey,
        from entries: inout [ObjectIdentifier: [RegistrationKey: Entry]]
    ) -> Entry? {
        let entry = entries[target]?.removeValue(forKey: registrationKey)
        if entries[target]?.isEmpty == true { entries[target] = nil }
        return entry
    }
}
