/// Which closures callers of `cancel` wait for. One for the whole process: closures that cancel each other would wait for each other.
final class ClosureWaits: Sendable {
    private static let local = ForkLocal { ClosureWaits() }
    static var shared: ClosureWaits { local.object }

    /// Who waits: a thread, or the task that runs an observation's asynchronous closure.
    fileprivate enum Waiter: Hashable {
        case thread(WorkerThread)
        case closure(ObjectIdentifier)
    }

    /// For `end`.
    struct Wait {
        fileprivate let callers: Set<Waiter>
        fileprivate let observation: Observation
    }

    // Its lock is taken before a dispatcher's.
    private let waits = Locked<[Waiter: [Observation]]>([:])

    /// A task gives its thread up while it waits, and goes on on another.
    private static func callers(inTask: Bool) -> Set<Waiter> {
        var callers: Set<Waiter> = inTask ? [] : [.thread(.current)]
        if let running = Observation.current { callers.insert(.closure(ObjectIdentifier(running))) }
        return callers
    }

    /// The caller is going to wait for that closure to return. `nil`: it runs inside that closure, or the closure waits for the caller's, itself or through others.
    func begin(for observation: Observation, inTask: Bool = false) -> Wait? {
        let callers = Self.callers(inTask: inTask)
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
                if callers.contains(runner) { return nil }
                waitedFor += waits[runner] ?? []
            }
            for caller in callers { waits[caller, default: []].append(observation) }
            return Wait(callers: callers, observation: observation)
        }
    }

    /// The caller has waited.
    func end(_ wait: Wait) {
        waits.withLock { waits in
            for caller in wait.callers {
                guard let index = waits[caller]?.firstIndex(where: { $0 === wait.observation }) else { continue }
                waits[caller]?.remove(at: index)
                if waits[caller]?.isEmpty == true { waits[caller] = nil }
            }
        }
    }
}
