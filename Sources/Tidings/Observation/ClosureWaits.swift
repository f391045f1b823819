/// The closures that callers of `cancel` wait for. There is one instance per process. It prevents closures that cancel
/// each other from waiting for each other.
final class ClosureWaits: Sendable {
    private static let local = ForkLocal { ClosureWaits() }
    static var shared: ClosureWaits { local.object }

    /// A waiting thread, or one run of an observation's asynchronous closure. The run's number matters: a task of an
    /// earlier run may still wait, and is not part of the current run.
    fileprivate enum Waiter: Hashable {
        case thread(WorkerThread)
        case closure(ObjectIdentifier, run: UInt64)
    }

    /// The argument of `end`.
    struct Wait {
        fileprivate let callers: Set<Waiter>
        fileprivate let observation: Observation
    }

    // Lock order: this lock, then a dispatcher's lock.
    private let waits = Locked<[Waiter: [Observation]]>([:])

    /// In a task, the thread is not a waiter: the task gives its thread up while it waits, and continues on another.
    private static func callers(inTask: Bool) -> Set<Waiter> {
        var callers: Set<Waiter> = inTask ? [] : [.thread(.current)]
        if let run = Observation.current {
            callers.insert(.closure(ObjectIdentifier(run.observation), run: run.number))
        }
        return callers
    }

    /// Call before waiting for that closure to return. `nil`: do not wait. The caller is inside that closure, or that
    /// closure waits for the caller's closure, directly or through other closures.
    func begin(for observation: Observation, inTask: Bool = false) -> Wait? {
        let callers = Self.callers(inTask: inTask)
        return waits.withLock { waits in
            var seen: Set<ObjectIdentifier> = []
            var waitedFor = [observation]
            while let next = waitedFor.popLast() {
                guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
                let runner: Waiter
                switch next.dispatcher.lock.withLock({ (next.machine.runner, next.machine.runs) }) {
                case (.noRunner, _), (.noRunnerYet, _): continue
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

    /// The caller has finished waiting.
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
