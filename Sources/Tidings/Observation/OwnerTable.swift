/// The observations that belong to owners, of one center object.
final class OwnerTable: Sendable {
    /// An owner has one observation for each of these.
    struct RegistrationKey: Hashable {
        /// `nil`: all names.
        var names: Set<SharedNotificationCenter.Name>?
        var prefixes: Set<ByteText>
        var type: ObjectIdentifier
        var subject: ByteText?
    }

    /// An owner and its current closure, which a later registration may exchange. The observation's manner alone keeps
    /// it alive: when the observation ends, the closure is released.
    private final class Registration: @unchecked Sendable {
        // Sendable: only the closure changes, behind a lock. Loading a weak reference excludes its clearing.
        weak var owner: (any AnyObject & Sendable)?
        private let manner: Locked<Manner>
        private let registrationKey: RegistrationKey
        private weak let table: OwnerTable?
        private let address: ObjectIdentifier

        init(
            _ owner: any AnyObject & Sendable, _ manner: Manner, _ registrationKey: RegistrationKey,
            in table: OwnerTable
        ) {
            self.owner = owner
            address = ObjectIdentifier(owner)
            self.manner = Locked(manner)
            self.registrationKey = registrationKey
            self.table = table
        }

        /// The owner, which stays alive while its closure runs, and the closure. `nil`: the owner was released, and the
        /// registration ends.
        var current: (any AnyObject & Sendable, Manner)? {
            if let owner { return (owner, manner.withLock { $0 }) }
            // The closure that is being called is not waited for.
            let ended = table?.take(address, registrationKey) { $0.registration === self }
            ended?.anchor.observation.cancel(waiting: false)
            return nil
        }

        /// Whether the new closure runs where the present one does, so that the two can be exchanged.
        func accepts(_ new: Manner, of owner: any AnyObject & Sendable) -> Bool {
            self.owner === owner && manner.withLock { $0.isLike(new) }
        }

        /// Returns the previous closure, which the caller releases without a lock.
        func exchange(_ new: Manner) -> Manner {
            manner.withLock { manner in
                defer { manner = new }
                return manner
            }
        }

        /// Calls the current closure, in the context of the first one.
        var relay: Manner {
            switch manner.withLock({ $0 }) {
            case .closure(let queue, _): .closure(queue) { [self] in call($0) }
            case .mainActor: .mainActor { [self] in call($0) }
            case .isolated(let actor, _): .isolated(actor) { [self] in call($0) }
            case .task(let executor, _):
                .task(executor) { [self] arrival in
                    if let (owner, manner) = current, case .task(_, let closure) = manner {
                        await closure(arrival)
                        withExtendedLifetime(owner) {}
                    }
                }
            case .pull: .pull
            }
        }

        private func call(_ arrival: Arrival) {
            if let (owner, manner) = current { withExtendedLifetime(owner) { manner.call(arrival) } }
        }
    }

    private struct Entry: @unchecked Sendable {
        // Sendable: used only with the lock held. Loading a weak reference excludes its clearing.
        weak var registration: Registration?
        let anchor: ObservationAnchor
    }

    private struct Entries: Sendable {
        var byOwner: [ObjectIdentifier: [RegistrationKey: Entry]] = [:]
        /// From this number of registrations on, those that have ended are removed.
        var limit = 16
        var count = 0
    }

    private let generation = Forking.generation
    private let entries = Locked(Entries())
    // Lock order: `entries`, then this lock, then a dispatcher's lock.
    private let ending = Locked(EndingRegistrations())

    /// Adds an observation of an owner, or exchanges the closure of the one with the same key. `observe` is called with
    /// the entries locked.
    func anchor(
        for owner: any AnyObject & Sendable, _ registrationKey: RegistrationKey, as manner: Manner,
        in core: CenterCore, observe: (ObjectIdentifier, Manner) throws(SharedNotificationError) -> ObservationAnchor
    ) throws(SharedNotificationError) -> ObservationAnchor {
        try core.refuseIfForked()
        let address = ObjectIdentifier(owner)
        while true {
            // Released after unlocking: each reference may be the last one, and a deinit may run any code.
            var references: [AnyObject?] = []
            var replaced: Manner?
            var stale: Entry?
            var ended: [ObservationAnchor] = []
            // Also if `observe` throws.
            defer {
                for anchor in ended { anchor.observation.cancel(waiting: false) }
                withExtendedLifetime((references, replaced)) {}
            }
            let anchor = try entries.withLock { (entries) throws(SharedNotificationError) -> ObservationAnchor? in
                if let entry = entries.byOwner[address]?[registrationKey] {
                    let registration = entry.registration
                    references.append(registration)
                    if let registration, entry.anchor.observation.isServed, registration.accepts(manner, of: owner) {
                        replaced = registration.exchange(manner)
                        return entry.anchor
                    }
                    // The entry is being removed, or its owner has been released, or its closure runs in another
                    // context than the new one. Its closure may be running. A thread that removes the owner from now on
                    // does not find the entry, but must still wait for the closure.
                    entry.anchor.observation.endRuns()
                    ending.withLock { $0.add(address, entry.anchor.observation) }
                    stale = Self.take(address, registrationKey, from: &entries)
                    return nil
                }
                ended = Self.removeEnded(from: &entries, &references)
                let registration = Registration(owner, manner, registrationKey, in: self)
                references.append(registration)
                let anchor = try observe(address, registration.relay)
                entries.byOwner[address, default: [:]][registrationKey] = Entry(
                    registration: registration, anchor: anchor)
                entries.count += 1
                return anchor
            }
            if let anchor { return anchor }
            stale?.anchor.observation.cancel(waiting: true)
        }
    }

    /// Removes the entries of ended observations and of released owners, now and then, so that the table does not grow
    /// without bound. The caller cancels what is returned, and then releases the references, without the lock.
    private static func removeEnded(
        from entries: inout Entries, _ references: inout [AnyObject?]
    ) -> [ObservationAnchor] {
        guard entries.count >= entries.limit else { return [] }
        var ended: [ObservationAnchor] = []
        for (address, registered) in entries.byOwner {
            for (registrationKey, entry) in registered {
                let registration = entry.registration
                let owner = registration?.owner
                references += [registration, owner]
                if owner != nil, !entry.anchor.isCancelled { continue }
                ended.append(entry.anchor)
                _ = take(address, registrationKey, from: &entries)
            }
        }
        entries.limit = max(16, 2 * entries.count)
        return ended
    }

    /// Ends all observations of an owner, and waits for its closures, except for one that makes this call.
    func remove(_ owner: ObjectIdentifier) {
        // In a forked child, no closure runs, and another thread of the parent may have held the lock.
        guard generation == Forking.generation else { return }
        let meant = entries.withLock { $0.byOwner[owner] ?? [:] }
        let alive = ending.withLock { $0.forgetEnded() }
        withExtendedLifetime(alive) {}
        // Without the lock: this waits for closures, which may add and remove observers.
        Observation.cancelAll(meant.values.map(\.anchor.observation) + ending.withLock { $0.of(owner) })
        // Remove the entries only now: a concurrent removal of the owner must find them, and wait.
        for (registrationKey, entry) in meant {
            ending.withLock { $0.add(owner, entry.anchor.observation) }
            _ = take(owner, registrationKey) { $0.anchor === entry.anchor }
        }
    }

    /// Takes the entry out if it is the one that is meant. The caller releases it, without the lock.
    private func take(
        _ owner: ObjectIdentifier, _ registrationKey: RegistrationKey, if isMeant: (Entry) -> Bool
    ) -> Entry? {
        entries.withLock { entries in
            guard let entry = entries.byOwner[owner]?[registrationKey], isMeant(entry) else { return nil }
            return Self.take(owner, registrationKey, from: &entries)
        }
    }

    private static func take(
        _ owner: ObjectIdentifier, _ registrationKey: RegistrationKey, from entries: inout Entries
    ) -> Entry? {
        let entry = entries.byOwner[owner]?.removeValue(forKey: registrationKey)
        if entry != nil { entries.count -= 1 }
        if entries.byOwner[owner]?.isEmpty == true { entries.byOwner[owner] = nil }
        return entry
    }
}

extension Manner {
    /// Whether a closure of the other manner can take the place of this one's: both run in one context.
    fileprivate func isLike(_ other: Manner) -> Bool {
        switch (self, other) {
        case (.closure(let queue, _), .closure(let otherQueue, _)): queue === otherQueue
        case (.mainActor, .mainActor), (.task, .task): true
        case (.isolated(let actor, _), .isolated(let otherActor, _)): actor === otherActor
        default: false
        }
    }
}
