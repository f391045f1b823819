/// A center object's own observers of messages with subjects, whom a post must have reached when it returns.
final class SubjectObservers: Sendable {
    private struct Reference: Sendable {
        weak let observation: Observation?
    }

    private struct State: Sendable {
        var references: [SharedNotificationCenter.Name: [Reference]] = [:]
    }

    private let generation = Forking.generation
    private let state = Locked(State())

    func add(_ observation: Observation, name: SharedNotificationCenter.Name) {
        // Released without the lock: one may be the last reference.
        var alive: [Observation] = []
        state.withLock { state in
            // Those who are gone go when somebody of that name comes: there are never more of them than were there at a time.
            state.references[name, default: []].removeAll { reference in
                guard let observation = reference.observation else { return true }
                alive.append(observation)
                return false
            }
            state.references[name, default: []].append(Reference(observation: observation))
        }
        withExtendedLifetime(alive) {}
    }

    /// Whom a notification is for, in the order in which they were added.
    private func observations(of name: SharedNotificationCenter.Name, _ subject: String?) -> [Observation] {
        // In a forked child nobody dispatches, and the lock may be anybody's.
        guard generation == Forking.generation else { return [] }
        return state.withLock { ($0.references[name] ?? []).compactMap(\.observation) }.filter { observation in
            let asked = observation.subscription.subject
            return asked == nil || asked.map { ByteText($0) } == subject.map { ByteText($0) }
        }
    }

    /// Returns when it has come to all of them.
    func settle(_ name: SharedNotificationCenter.Name, _ subject: String?, _ sequence: UInt64, in incarnation: UInt64) {
        for observation in observations(of: name, subject) { observation.waitUntilReached(sequence, in: incarnation) }
    }

    /// Returns when it has come to all of them, and their closures have been called.
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
    /// 10 s: no measure, but the end of a wait that would be without one: for a dispatcher thread that is stopped.
    private static let patience: UInt64 = 10_000_000_000

    /// Notes how far it has come. With the lock held.
    func note(_ item: Item) {
        switch item {
        case .arrival(let arrival): reached = max(reached, arrival.envelope.sequence.position(after: 1))
        case .missed, .ended: losses += 1
        case .reopened: return
        }
        dispatcher.lock.wakeAll()
    }

    /// Notes that it begins at that place of a center. With the lock held.
    func note(_ position: UInt64, in incarnation: UInt64) {
        reached = position
        reachedIn = incarnation
        dispatcher.lock.wakeAll()
    }

    fileprivate func waitUntilReached(_ sequence: UInt64, in incarnation: UInt64) {
        guard !dispatcher.isForked else { return }
        let deadline = Lock.now + Self.patience
        dispatcher.lock.withLock {
            // A closure on the dispatcher thread would wait for itself.
            guard dispatcher.thread != .current else { return }
            let before = losses
            let begun = reachedIn
            // After a loss it may never come. It may have yet to go on in that center; once it is in a later one, it has nothing of this one any more.
            while losses == before, !machine.isCancelled,
                reachedIn == incarnation ? reached <= sequence : reachedIn == begun
            {
                guard dispatcher.lock.wait(until: deadline) else { return }
            }
        }
    }

    /// Calls the closure for what waits, up to that one, unless it is running: then it follows by itself.
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
