/// Which closures callers of `cancel` wait for. One for the whole process: closures that cancel each other would wait for each other.
final class ClosureWaits: Sendable {
    private static let local = ForkLocal { ClosureWaits() }
    static var shared: ClosureWaits { local.object }

    /// A thread that waits, or one run of an observation's asynchronous closure. A task that was started in an earlier run, and still waits, is
    /// not the run that goes on now.
    fileprivate enum Waiter: Hashable {
        case thread(WorkerThread)
        case closure(ObjectIdentifier, run: UInt64)
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
        if let run = Observation.current {
            callers.insert(.closure(ObjectIdentifier(run.observation), run: run.number))
        }
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
                switch next.dispatcher.lock.withLock({ (next.machine.runner, next.machine.runs) }) {
                case (.nobody, _), (.nobodyYet, _): continue
                case (.thread(let thread), _): runner = .thread(thread)
                case (.task, let run): runner = .closure(ObjectIdentifier(next), run: run)
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
