// The registrations of observers by a protocol.

#if Macros
    struct WeakAnchor {
        weak var anchor: ObservationAnchor?
    }

    /// What a registration's closure needs of the observer: a reference to it, and the method for each name.
    final class ProtocolRelay<Observer>: @unchecked Sendable {
        // Sendable: only state behind the lock changes. The observer is loaded from a weak reference and called one
        // call at a time. The registering caller sends it here, so the compiler knows that another thread may use it.
        private let methods: [SharedNotificationCenter.Name: Int]
        private let reference: () -> Observer?
        let anchor = Locked(WeakAnchor())

        init(_ names: [SharedNotificationCenter.Name], _ reference: @escaping () -> Observer?) {
            methods = Dictionary(zip(names, names.indices)) { first, _ in first }
            self.reference = reference
        }

        /// `nil`: the observer has been released, or the name is not one of its methods. A registration without an
        /// observer is cancelled here.
        func target(of arrival: Arrival) -> (Observer, Int)? {
            guard let method = methods[arrival.name] else { return nil }
            if let observer = reference() { return (observer, method) }
            anchor.withLock { $0.anchor }?.observation.cancel(waiting: false)
            return nil
        }
    }

    /// The objects of one center object that observe by a protocol.
    ///
    /// An object is found by its address. After its release, another object may have this address, so an entry whose
    /// object is gone is ignored.
    final class ProtocolObservers: Sendable {
        struct RegistrationKey: Hashable {
            var type: ObjectIdentifier
            /// Compared byte by byte, as the center compares subjects.
            var subject: ByteText?
        }

        private struct Entry {
            weak var object: AnyObject?
            /// The tokens hold the anchor.
            weak var anchor: ObservationAnchor?
            /// The thread or task that runs a method holds the observation, even after a method has dropped the last
            /// token.
            weak var observation: Observation?

            init(_ object: AnyObject, _ anchor: ObservationAnchor) {
                (self.object, self.anchor, observation) = (object, anchor, anchor.observation)
            }

            /// Release the result without the lock: each reference in it may be the last one.
            var found: Found { Found(anchor: anchor, observation: observation) }
        }

        private struct Found: Sendable {
            let anchor: ObservationAnchor?
            let observation: Observation?
        }

        private struct Entries: @unchecked Sendable {
            // Sendable: used only with the lock held. The objects are compared and never used.
            var byObject: [ObjectIdentifier: [RegistrationKey: Entry]] = [:]
        }

        private let generation = Forking.generation
        private let entries = Locked(Entries())
        // Lock order: `entries`, then this lock, then a dispatcher's lock.
        private let ending = Locked(EndingRegistrations())

        /// Returns the anchor of the existing registration, or of a new one. `observe` runs with the lock held, so it
        /// must not run user code.
        func anchor(
            for object: AnyObject, _ registrationKey: RegistrationKey,
            observe: () throws(SharedNotificationError) -> ObservationAnchor
        ) throws(SharedNotificationError) -> ObservationAnchor {
            let address = ObjectIdentifier(object)
            // Release these references after unlocking: each may be the last one, and an anchor's end waits for
            // closures.
            var found: [Found] = []
            var stale: Observation?
            let anchor = try entries.withLock { (entries) throws(SharedNotificationError) -> ObservationAnchor in
                if let entry = entries.byObject[address]?[registrationKey], entry.object === object {
                    let old = entry.found
                    found.append(old)
                    if let anchor = old.anchor, anchor.observation.isServed { return anchor }
                    stale = old.observation
                }
                // Remove entries of ended observations here, so that the table does not grow without bound.
                if entries.byObject[address] == nil {
                    entries.byObject = entries.byObject.filter { _, entries in
                        let all = entries.values.map(\.found)
                        found += all
                        return all.contains { $0.anchor != nil || $0.observation != nil }
                    }
                }
                let anchor = try observe()
                // One of its methods may be running. A thread that removes the object from now on does not find the
                // entry, but must still wait for the method.
                if let stale {
                    stale.endRuns()
                    ending.withLock { $0.add(address, stale) }
                }
                entries.byObject[address, default: [:]][registrationKey] = Entry(object, anchor)
                return anchor
            }
            withExtendedLifetime((found, stale)) {}
            return anchor
        }

        func remove(_ object: ObjectIdentifier) {
            // In a forked child, no closure runs, and another thread of the parent may have held the lock.
            guard generation == Forking.generation else { return }
            let meant = entries.withLock { ($0.byObject[object] ?? [:]).mapValues(\.found) }
            // Without the lock: this waits for closures, which may add and remove observers.
            let alive = ending.withLock { $0.forgetEnded() }
            withExtendedLifetime(alive) {}
            let removed = meant.compactMapValues(\.observation)
            Observation.cancelAll(removed.values + ending.withLock { $0.of(object) })
            // Remove the entries only now: a concurrent removal of the object must find them, and wait.
            for observation in removed.values { ending.withLock { $0.add(object, observation) } }
            var found: [Found?] = []
            entries.withLock { entries in
                for (registrationKey, old) in meant {
                    let now = entries.byObject[object]?[registrationKey]?.found
                    found.append(now)
                    if now?.observation === old.observation { entries.byObject[object]?[registrationKey] = nil }
                }
                if entries.byObject[object]?.isEmpty == true { entries.byObject[object] = nil }
            }
            withExtendedLifetime(found) {}
        }
    }
#endif
