/// A center object's observers of messages with subjects. A post through this object returns only after it has reached
/// them.
final class SubjectObservers: Sendable {
    private let generation = Forking.generation
    private let byName = Locked<[SharedNotificationCenter.Name: WeakObservations]>([:])

    func add(_ observation: Observation, name: SharedNotificationCenter.Name) {
        let alive = byName.withLock { byName in
            // Remove released observations when another one of the same name is added. The list is therefore never
            // longer than the largest number that were alive at one time.
            defer { byName[name]!.add(observation) }
            return byName[name, default: WeakObservations()].prune()
        }
        // Released without the lock: one may be the last reference.
        withExtendedLifetime(alive) {}
    }

    /// The observations that match a notification, in the order in which they were added.
    private func observations(of name: SharedNotificationCenter.Name, _ subject: String?) -> [Observation] {
        // In a forked child, no dispatcher runs, and another thread of the parent may have held the lock.
        guard generation == Forking.generation else { return [] }
        return byName.withLock { $0[name]?.all ?? [] }.filter { observation in
            let asked = observation.subscription.subject
            return asked == nil || asked.map { ByteText($0) } == subject.map { ByteText($0) }
        }
    }

    /// Returns when the notification has reached all matching observations.
    func settle(_ name: SharedNotificationCenter.Name, _ subject: String?, _ sequence: UInt64, in incarnation: UInt64) {
        for observation in observations(of: name, subject) { observation.waitUntilReached(sequence, in: incarnation) }
    }

    /// Returns when the notification has reached all matching observations, and their closures have been called.
    @MainActor
    func settleOnMainActor(
        _ name: SharedNotificationCenter.Name, _ subject: String?, _ sequence: UInt64, in incarnation: UInt64
    ) {
        for observation in observations(of: name, subject) {
            observation.waitUntilReached(sequence, in: incarnation)
            observation.runOnMainActor(through: sequence, in: incarnation)
        }
    }
}

extension Observation {
    /// 10 s: not a measured value, but a bound for a wait that would otherwise be endless if a dispatcher thread is
    /// stopped.
    private static let longestWait: UInt64 = 10_000_000_000

    /// Records the observation's progress. With the lock held.
    func note(_ item: Item) {
        switch item {
        case .arrival(let arrival): reached = max(reached, arrival.envelope.sequence.position(after: 1))
        case .missed, .ended: losses += 1
        case .reopened: return
        }
        dispatcher.lock.wakeAll()
    }

    /// Records that the observation begins at this position of a center. With the lock held.
    func note(_ position: UInt64, in incarnation: UInt64) {
        reached = position
        reachedIn = incarnation
        dispatcher.lock.wakeAll()
    }

    fileprivate func waitUntilReached(_ sequence: UInt64, in incarnation: UInt64) {
        guard !dispatcher.isForked else { return }
        let deadline = Lock.now + Self.longestWait
        dispatcher.lock.withLock {
            // On the dispatcher thread, the closure would wait for its own thread.
            guard dispatcher.thread != .current else { return }
            let before = losses
            let begun = reachedIn
            // After a loss, the notification may never arrive, and after the dispatcher's end it will not. The
            // observation may have to move to this center first; in a later center, none of this center will arrive.
            while losses == before, !machine.isCancelled, !dispatcher.roles.isStopped,
                reachedIn == incarnation
                    ? reached <= sequence : reachedIn == begun && !dispatcher.incarnations.contains(incarnation)
            {
                guard dispatcher.lock.wait(until: deadline) else { return }
            }
        }
    }

    /// Calls the closure for waiting items, up to this notification. If the closure is running, it receives the
    /// notification later.
    @MainActor
    fileprivate func runOnMainActor(through sequence: UInt64, in incarnation: UInt64) {
        while true {
            let (taken, manner) = dispatcher.lock.withLock { () -> (Item?, Manner?) in
                (self.manner == nil ? nil : machine.takeEarly(for: .thread(.current)), self.manner)
            }
            guard let taken, case .mainActor(let handler) = manner else { return }
            var isLast = false
            switch taken {
            case .arrival(let arrival):
                handler(arrival)
                isLast = arrival.envelope.incarnation == incarnation && arrival.envelope.sequence >= sequence
            case .missed(let count, let name): reportMissed(count, of: name)
            case .reopened, .ended: break
            }
            pause()
            if isLast { return }
        }
    }
}
