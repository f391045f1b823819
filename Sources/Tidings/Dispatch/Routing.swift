internal import Dispatch

// The leader's work: wait, next, route.
extension Dispatcher {
    /// A thread's life: leads until it is deposed, or nobody is left to serve.
    func lead(_ tenure: Roles.Tenure, resuming: Bool) {
        // Whoever started this thread still had the lock, and what it wrote belongs before this.
        lock.withLock {}
        var scratch = PayloadScratch()
        var resuming = resuming
        while true {
            if !resuming {
                switch observer.next() {
                case .delivery: position = 0
                case .interrupted:
                    if lock.withLock({ roles.isStopped }) { return end() }
                    continue
                case .failed(let error): return fail(error)
                }
            }
            resuming = false
            switch route(tenure, &scratch) {
            case .goOn: continue
            case .deposed: return
            case .stopped: return end()
            }
        }
    }

    private enum Routed {
        case goOn
        case deposed
        case stopped
    }

    private enum Step {
        case run(Observation, Manner, SharedNotificationCenter.Name?, watch: Bool)
        case keep(Observation, SharedNotificationCenter.Name?)
        case drain(Observation)
        case done(Routed)
    }

    /// Serves everybody the current delivery is for, from `position` on.
    private func route(_ tenure: Roles.Tenure, _ scratch: inout PayloadScratch) -> Routed {
        var borrowed: UnsafeRawBufferPointer?
        var owned: [UInt8]?
        var finished: Observation?
        while true {
            let (step, ending) = lock.withLock { nextStep(tenure, after: finished) }
            for continuation in ending { continuation.resume() }
            finished = nil
            switch step {
            case .run(let observation, let manner, let name, let watch):
                if watch { HandlerWatch.shared.watch(self) }
                let item = item(for: name) {
                    if borrowed == nil { borrowed = scratch.copy(observer.payload) }
                    return .borrowed(borrowed!)
                }
                pulse.add(1, ordering: .releasing)
                observation.run(manner, with: item)
                finished = observation
            case .keep(let observation, let name):
                let item = item(for: name) {
                    if owned == nil { owned = Array(observer.payload) }
                    return .owned(owned!)
                }
                keep(item, for: observation)
            case .drain(let observation):
                observation.drainOnDeposedThread()
                return .deposed
            case .done(let routed):
                return routed
            }
        }
    }

    /// With the lock held. What it returns besides the step is to be resumed without.
    private func nextStep(
        _ tenure: Roles.Tenure, after finished: Observation?
    ) -> (Step, [UnsafeContinuation<Void, Never>]) {
        var ending: [UnsafeContinuation<Void, Never>] = []
        if let finished {
            guard roles.handlerReturns(tenure) else { return (.drain(finished), []) }
            pulse.add(1, ordering: .relaxed)
            running = nil
            finished.machine.returns()
            ending = finished.ended()
        }
        let interests = observer.interests
        while position < interests.count {
            let number = interests[position]
            position += 1
            guard let (observation, name) = table[number], routes(to: observation) else { continue }
            switch observation.machine.arrives(on: thread!) {
            case .ignore: continue
            case .keep: return (.keep(observation, name), ending)
            case .run:
                running = observation
                let watch = roles.handlerBegins(others: isShared && table.count > 1)
                return (.run(observation, observation.manner!, name, watch: watch), ending)
            }
        }
        return (.done(roles.isStopped ? .stopped : .goOn), ending)
    }

    private func routes(to observation: Observation) -> Bool {
        guard observer.missed == nil else { return true }
        if observation.interest.excludesOwn, observer.isOwn { return false }
        if observation.interest.names == nil, let subject = observation.interest.subject {
            return observer.subject == subject
        }
        return true
    }

    /// The current delivery, for an observation of that name.
    private func item(for name: SharedNotificationCenter.Name?, bytes: () -> Arrival.Bytes) -> Item {
        if let missed = observer.missed { return .missed(missed, name) }
        return .arrival(
            Arrival(
                name: name ?? SharedNotificationCenter.Name(observer.name), format: observer.format, bytes: bytes(),
                envelope: SharedNotificationCenter.Envelope(
                    sequence: observer.sequence, postedAtNanoseconds: observer.postedAtNanoseconds,
                    poster: SharedNotificationCenter.Poster(
                        pid: observer.pid, uid: observer.uid,
                        executable: executables?.name(ofParticipant: observer.participant, pid: observer.pid)),
                    subject: observer.subject, isRetained: observer.isRetained, isOwn: observer.isOwn)))
    }

    /// Puts it into the observation's buffer, waiting for room if it is lossless.
    private func keep(_ item: Item, for observation: Observation) {
        var pulling: UnsafeContinuation<Item?, Never>?
        var pulled: Item?
        let keeps = lock.withLock {
            var keeps = observation.machine.keep(item)
            while keeps == .wait {
                lock.wait()
                keeps = observation.machine.keep(item)
            }
            if !observation.pulling.isEmpty, let item = observation.machine.pull() {
                pulling = observation.pulling.removeFirst()
                pulled = item
            }
            return keeps
        }
        if let pulling { observation.resume(pulling, with: pulled) }
        if keeps == .keptAndDrain { observation.startDrain() }
    }

    /// The C observer is of no use any more: sequences end, closures are not called again.
    private func fail(_ error: SharedNotificationError) {
        let (observations, diagnostics) = lock.withLock {
            (table.values.map(\.observation), table.values.first?.observation.diagnostics)
        }
        for observation in observations { observation.cancel(waiting: false) }
        diagnostics?.report(.dispatchFailed(error))
        end()
    }

    /// The watch looks. False: look no more.
    func look() -> Bool {
        lock.withLock {
            switch roles.look(pulse: pulse.load(ordering: .acquiring)) {
            case .rest: return false
            case .again: return true
            case .depose:
                // A whole interval in one closure. If there is no thread to be had, it is tried again at the next look.
                guard let running, let old = thread, (try? startLeader(resuming: true)) != nil else { return true }
                old.detach()
                running.queue = running.queue ?? DispatchQueue(label: "tidings.observer")
                running.machine.setAside()
                // Even for the new leader, who is in no closure yet.
                pulse.add(1, ordering: .relaxed)
                self.running = nil
                return true
            }
        }
    }
}
