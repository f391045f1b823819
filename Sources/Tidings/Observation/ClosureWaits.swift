/// Which closures callers of `cancel` wait for. One for the whole process: closures that cancel each other would wait for each other.
final class ClosureWaits: Sendable {
    private static let local = ForkLocal { ClosureWaits() }
    static var shared: ClosureWaits { local.object }

    /// Who waits: a thread, or the task that runs an observation's asynchronous closure.
    private enum Waiter: Hashable {
        case thread(WorkerThread)
        case closure(ObjectIdentifier)
    }

    // Its lock is taken before a dispatcher's.
    private let waits = Locked<[Waiter: [Observation]]>([:])

    private static var callers: Set<Waiter> {
        var callers: Set<Waiter> = [.thread(.current)]
        if let running = Observation.current { callers.insert(.closure(ObjectIdentifier(running))) }
        return callers
    }

    /// The caller is going to wait for that closure to return. False: the closure waits for the caller's, itself or through others.
    func begin(for observation: Observation) -> Bool {
        let callers = Self.callers
        return waits.withLock { waits in
            var seen: Set<ObjectIdentifier> = []
            var waitedFor = [observation]
            while let next = waitedFor.popLast() {
                guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
                let runner: Waiter
                switch next.dispatcher.lock.withLock({ next.machine.runner }) {
                case .nobody, .nobodyYet: continue
                case .thread(let thread): runner = .thread(thread)
                case .task: runner = .closure(ObjectIdentifier(next))
                }
                if callers.contains(runner) { return false }
                waitedFor += waits[runner] ?? []
            }
            for caller in callers { waits[caller, default: []].append(observation) }
            return true
        }
    }

    /// The caller has waited.
    func end(for observation: Observation) {
        waits.withLock { waits in
            for caller in Self.callers {
                guard let index = waits[caller]?.firstIndex(where: { $0 === observation }) else { continue }
                waits[caller]?.remove(at: index)
                if waits[caller]?.isEmpty == true { waits[caller] = nil }
            }
        }
    }
}
