#if Macros
    struct WeakAnchor {
        weak var anchor: ObservationAnchor?
    }

    /// What a registration's closure knows of the observer: how to find it, and which method a name means.
    final class ProtocolRelay<Observer>: @unchecked Sendable {
        // Sendable: nothing changes but what is behind the lock. The observer is only loaded, from a weak reference, and called one call at a
        // time; whoever registers it sends it here, so the compiler knows that another thread may use it.
        private let methods: [SharedNotificationCenter.Name: Int]
        private let reference: () -> Observer?
        let anchor = Locked(WeakAnchor())

        init(_ names: [SharedNotificationCenter.Name], _ reference: @escaping () -> Observer?) {
            methods = Dictionary(zip(names, names.indices)) { first, _ in first }
            self.reference = reference
        }

        /// `nil`: the observer is gone, and so is the registration then.
        func target(of arrival: Arrival) -> (Observer, Int)? {
            guard let method = methods[arrival.name] else { return nil }
            if let observer = reference() { return (observer, method) }
            anchor.withLock { $0.anchor }?.cancel(waiting: false)
            return nil
        }
    }

    /// Which objects observe by which protocols. A center object's own.
    ///
    /// An object is found by its address, which another may have after its death: an entry whose object is gone counts for nothing.
    final class ProtocolObservers: Sendable {
        struct RegistrationKey: Hashable {
            var type: ObjectIdentifier
            /// By bytes, as the center tells subjects apart.
            var subject: ByteText?
        }

        private struct Entry {
            weak var object: AnyObject?
            /// The tokens hold it.
            weak var anchor: ObservationAnchor?
            /// What runs a method holds it, also after a method has dropped the last token.
            weak var observation: Observation?

            init(_ object: AnyObject, _ anchor: ObservationAnchor) {
                (self.object, self.anchor, observation) = (object, anchor, anchor.observation)
            }

            /// Release it without the lock: each may be the last reference.
            var found: Found { Found(anchor: anchor, observation: observation) }
        }

        private struct Found: Sendable {
            let anchor: ObservationAnchor?
            let observation: Observation?
        }

        private struct Entries: @unchecked Sendable {
            // Sendable: used with the lock held only; the objects are compared and never used.
            var byObject: [ObjectIdentifier: [RegistrationKey: Entry]] = [:]
        }

        private let generation = Forking.generation
        private let entries = Locked(Entries())
        // Its lock is taken after that of `entries`, and before a dispatcher's.
        private let ending = Locked(EndingRegistrations<RegistrationKey>())

        /// That of the registration there is, or of a new one. `observe` runs with the lock held, so no user code.
        func anchor(
            for object: AnyObject, _ registrationKey: RegistrationKey,
            observe: () throws(SharedNotificationError) -> ObservationAnchor
        ) throws(SharedNotificationError) -> ObservationAnchor {
            let address = ObjectIdentifier(object)
            // Out of the lock before one may be the last reference: an anchor's end waits for closures.
            var found: [Found] = []
            let anchor = try entries.withLock { (entries) throws(SharedNotificationError) -> ObservationAnchor in
                if let entry = entries.byObject[address]?[registrationKey], entry.object === object {
                    let old = entry.found
                    found.append(old)
                    if let anchor = old.anchor, !anchor.isCancelled { return anchor }
                    // One of its methods may be running: a thread that removes the object from now on does not find the entry, and waits for
                    // the method all the same.
                    if let observation = old.observation {
                        observation.endRuns()
                        ending.withLock { $0.add(address, registrationKey, observation) }
                    }
                }
                // What has ended since is forgotten now and then.
                if entries.byObject[address] == nil {
                    entries.byObject = entries.byObject.filter { _, entries in
                        let all = entries.values.map(\.found)
                        found += all
                        return all.contains { $0.anchor != nil || $0.observation != nil }
                    }
                }
                let anchor = try observe()
                entries.byObject[address, default: [:]][registrationKey] = Entry(object, anchor)
                return anchor
            }
            withExtendedLifetime(found) {}
            return anchor
        }

        func remove(_ object: ObjectIdentifier, where isMeant: (RegistrationKey) -> Bool) {
            // In a forked child nothing of this runs, and the lock may be anybody's.
            guard generation == Forking.generation else { return }
            let meant = entries.withLock { entries in
                (entries.byObject[object] ?? [:]).filter { isMeant($0.key) }.mapValues(\.found)
            }
            // Without the lock: this waits for closures, which may add and remove observers.
            let alive = ending.withLock { $0.forgetEnded() }
            withExtendedLifetime(alive) {}
            let removed = meant.compactMapValues(\.observation)
            Observation.cancelAll(removed.values + ending.withLock { $0.of(object, where: isMeant) })
            // Not before: who removes the object meanwhile has to find them, and wait.
            for (registrationKey, observation) in removed {
                ending.withLock { $0.add(object, registrationKey, observation) }
            }
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

    /// Finds what was generated for a protocol, by its name.
    ///
    /// Swift lets no macro extend another type than the one it stands at, so nothing the compiler sees leads from `UserObserver.self` to
    /// `UserObserverMessages`. The runtime finds a type by its mangled name: identifiers with their lengths, and a letter for what each is.
    enum ProtocolMessagesLookup {
        static func messages(of type: Any.Type) -> Any.Type? {
            let parts = _typeName(type, qualified: true).split(separator: ".").map(String.init)
            // Anything else is mangled in another way.
            guard parts.count >= 2, parts.allSatisfy({ $0.utf8.allSatisfy(isPlain) && $0.first?.isNumber == false })
            else {
                return nil
            }
            var prefixes = [mangled(parts[0])]
            for part in parts.dropFirst().dropLast() {
                // A structure, a class, an enumeration: which one can't be seen.
                prefixes = prefixes.flatMap { prefix in ["V", "C", "O"].map { prefix + mangled(part) + $0 } }
                guard prefixes.count < 1000 else { return nil }
            }
            for prefix in prefixes {
                if let found = _typeByName(prefix + mangled("\(parts.last!)Messages") + "O") { return found }
            }
            return nil
        }

        private static func mangled(_ identifier: String) -> String { "\(identifier.utf8.count)\(identifier)" }

        private static func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
#endif
