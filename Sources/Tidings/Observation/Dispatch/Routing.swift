// The leader's work: wait for a delivery, take it, and route it to observations.
internal import Dispatch

extension Dispatcher {
    /// A thread's life: it leads until it is deposed, or until there is no observation left to serve.
    func lead(_ tenure: Roles.Tenure, resuming: Bool) {
        // Taking the lock orders this after the writes of the thread that started this one.
        let own = lock.withLock { () -> Observation? in
            guard isShared else { return table.entries.first?.observation.takeUnretainedValue() }
            // This thread may have been deposed before it came here.
            if roles.leads(tenure) { leaderNumber = WorkerThread.currentNumber }
            return nil
        }
        if let own, own.subscription.isLossless { _ = LosslessRun.begin(own) }
        var names = centerNames
        // `LosslessRun` refers to the observation without a reference.
        defer { withExtendedLifetime((names, own)) {} }
        var resuming = resuming
        // Whether observations end when this thread has passed a position. A deposed leader may have been told of them.
        var isFinishing = isFinishing
        // Bounds the tries: a peer may claim positions for ever.
        var turns: Int64 = 0
        while true {
            if !resuming {
                switch isFinishing ? observer.next(within: turns == 0 ? 0 : 1_000_000) : observer.next() {
                case nil:
                    turns += 1
                    isFinishing = finishReached(all: turns >= Self.mostTurns)
                    if !isFinishing { turns = 0 }
                    continue
                case .delivery: position = 0
                case .interrupted:
                    if lock.withLock({ roles.isStopped }) { return end() }
                    isFinishing = self.isFinishing
                    continue
                case .failed(let error):
                    switch goOn(after: error, tenure) {
                    case .goOn:
                        names = centerNames
                        if isFinishing { isFinishing = finishReached() }
                        continue
                    case .deposed, .stopped: return end()
                    }
                }
            }
            resuming = false
            switch route(tenure) {
            case .goOn:
                if isFinishing, !observer.hasNext { isFinishing = finishReached() }
                continue
            case .deposed: return
            case .stopped: return end()
            }
        }
    }

    /// Of a millisecond. A claimed position is revoked after a few milliseconds.
    private static var mostTurns: Int64 { 1000 }

    private enum Routed {
        case goOn
        case deposed
        case stopped
    }

    private enum Step {
        /// Holds a reference to the observation, and to its closure, which `route` releases.
        case run(Unmanaged<Observation>, @Sendable (Arrival) -> Void, SharedNotificationCenter.Name?, watch: Bool)
        case keep(Observation, SharedNotificationCenter.Name?, holds: Bool)
        case drain
        case done(Routed)
    }

    private typealias Ending = [UnsafeContinuation<Void, Never>]

    /// Serves all observations of the current delivery, from `position` on.
    private func route(_ tenure: Roles.Tenure) -> Routed {
        var kept: Arrival.Bytes?
        // Released by hand, because only the reference that a closure's run needs shall be counted on this path.
        var finished: Unmanaged<Observation>?
        while true {
            var ending: Ending?
            var startsLane = false
            let step = lock.withLock { nextStep(tenure, after: finished, &ending, &startsLane) }
            if let ending { for continuation in ending { continuation.resume() } }
            if case .drain = step, let finished {
                finished.takeRetainedValue().drainOnDeposedThread()
                return .deposed
            }
            if startsLane { finished?._withUnsafeGuaranteedRef { $0.startLane() } }
            finished?.release()
            finished = nil
            switch step {
            case .run(let observation, let handler, let name, let watch):
                if watch { HandlerWatch.shared.watch(self) }
                finished = observation
                // From the pulse on, a new leader may take the next delivery, which overwrites this one.
                if let missed = observer.missed {
                    let name = name ?? observer.missedPattern
                    beat()
                    observation._withUnsafeGuaranteedRef { $0.reportMissed(missed, of: name) }
                } else {
                    while observation._withUnsafeGuaranteedRef({ call(handler, of: $0, name, &kept) }),
                        lock.withLock({ goesOn(tenure, with: observation) })
                    {}
                }
            case .keep(let observation, let name, let holds):
                if let missed = observer.missed {
                    keep(.missed(missed, name ?? observer.missedPattern), for: observation)
                } else {
                    let bytes = kept ?? observer.keptPayload(holds: holds)
                    kept = bytes
                    var arrival = observer.arrival(for: name, bytes, centerNames)
                    if observation.subscription.isTimed { arrival.takenAt = Lock.now }
                    keep(.arrival(arrival), for: observation, isImmediate: observer.isImmediate)
                }
            case .done(let routed):
                // This thread still leads, because a leader is not deposed between two closures.
                if kept != nil { observer.dropPayload() }
                return routed
            case .drain: return .deposed
            }
        }
    }

    /// Calls a closure on the dispatcher thread with the current delivery. True: further deliveries may be for the same
    /// closure.
    @inline(__always)
    private func call(
        _ handler: @Sendable (Arrival) -> Void, of observation: Observation, _ name: SharedNotificationCenter.Name?,
        _ kept: inout Arrival.Bytes?
    ) -> Bool {
        let payload: Arrival.Bytes
        if observer.isPayloadLarge {
            payload = kept ?? observer.keptPayload(holds: true)
            kept = payload
        } else {
            // In the C observer's memory. It stays there during the closure: see `look()`.
            payload = .borrowed(observer.payload)
        }
        let arrival = observer.arrival(
            for: name, payload,
            .facts(observer.facts, subject: observer.subject, Unmanaged.passUnretained(centerNames)))
        let sequence = observer.isOwn ? observer.sequence : nil
        let hasNext = kept == nil && observer.hasNext
        beat()
        if let sequence {
            let isSampled = observation.beginsOwn(sequence)
            handler(arrival)
            if isSampled { observation.returnsFromOwn(sequence) }
        } else {
            handler(arrival)
        }
        return hasNext
    }

    /// After a closure has returned: goes on to the next delivery that the C library took in the same call, if the same
    /// closure is to run for it at once. Call with the lock held.
    ///
    /// Until this returns false, the closure counts as running, and the caller keeps its references to it. So each
    /// delivery of a backlog costs one critical section, and counts no reference.
    @inline(__always)
    private func goesOn(_ tenure: Roles.Tenure, with observation: Unmanaged<Observation>) -> Bool {
        guard roles.leads(tenure), !roles.isStopped,
            observation._withUnsafeGuaranteedRef({
                $0.machine.runsAtOnce && $0.lane == nil && $0.subscription.takesAll
            }), observer.nextOfSameSubscription()
        else { return false }
        // Even until the delivery has been read.
        beat()
        return true
    }

    /// Call with the lock held, and resume `ending` without it.
    ///
    /// The caller releases a returned closure before it takes the lock again. What the closure holds must not be
    /// released here after `cancel()` has returned in another thread.
    @inline(__always)
    private func nextStep(
        _ tenure: Roles.Tenure, after finished: Unmanaged<Observation>?, _ ending: inout Ending?,
        _ startsLane: inout Bool
    ) -> Step {
        if let finished {
            guard roles.handlerReturns(tenure) else { return .drain }
            beat()
            running = nil
            finished._withUnsafeGuaranteedRef {
                startsLane = $0.returns()
                if $0.machine.isCancelled { ending = $0.ended() }
            }
        }
        let subscriptions = observer.subscriptions
        while position < subscriptions.count {
            let number = subscriptions[position]
            position += 1
            guard let index = table.index(of: number) else { continue }
            // The table keeps it alive while the lock is held.
            let observation = table.entries[index].observation
            let arrives = observation._withUnsafeGuaranteedRef {
                routes(to: $0) ? $0.arrives(on: thread!) : .ignore
            }
            switch arrives {
            case .ignore: continue
            case .keep:
                let observation = observation.takeUnretainedValue()
                return .keep(observation, table.entries[index].name, holds: observation.machine.mayHold)
            case .run:
                running = observation
                let watch = roles.handlerBegins(others: isShared && table.count > 1)
                // `plain` is nil only after the observation's end, and then no delivery arrives.
                let handler = observation._withUnsafeGuaranteedRef { $0.plain! }
                return .run(observation.retain(), handler, table.entries[index].name, watch: watch)
            }
        }
        return .done(roles.isStopped ? .stopped : .goOn)
    }

    @inline(__always)
    private func routes(to observation: Observation) -> Bool {
        observer.missed != nil || observation.subscription.matches(observer)
    }

    /// Puts an item into the observation's buffer. If the observation is lossless, waits for room.
    private func keep(_ item: Item, for observation: Observation, isImmediate: Bool = false) {
        var pulling: UnsafeContinuation<Item?, Never>?
        var pulled: Item?
        let keeps = lock.withLock {
            var keeps = observation.keep(item, isImmediate: isImmediate)
            while keeps == .wait {
                waitsAt = observer.position
                lock.wait()
                keeps = observation.keep(item, isImmediate: isImmediate)
            }
            waitsAt = nil
            if observation.notesArrivals { observation.note(item) }
            if !observation.pulling.isEmpty, let item = observation.machine.pull() {
                pulling = observation.pulling.removeFirst()
                pulled = item
            }
            return keeps
        }
        if let pulling { observation.resume(pulling, with: pulled) }
        if keeps == .keptAndDrain { observation.startDrain() }
    }

    /// The C observer can't be used any more. If the center has ended and the center object follows its name, this goes
    /// on in the next center.
    private func goOn(after error: SharedNotificationError, _ tenure: Roles.Tenure) -> Routed {
        guard error.code == .removed, let core = lock.withLock({ core }), core.link.follows, var ended = observer.center
        else {
            return fail(error)
        }
        while true {
            if lock.withLock({ roles.isStopped }) { return .stopped }
            leave(ended)
            do throws(SharedNotificationError) {
                let next = try core.link.successor(of: ended)
                ended = next
                guard let served = try move(to: next) else { return .stopped }
                for observation in served {
                    if observation.isPulled {
                        keep(.reopened(next.incarnation), for: observation)
                    } else if observation.tellsMoves {
                        keep(.missed(0, nil), for: observation)
                    }
                }
                return report(.reopened(incarnation: next.incarnation), to: core.diagnostics, tenure)
            } catch {
                // The next center has ended already, and may have a successor itself.
                if error.code == .removed { continue }
                guard error.code == .notFound else { return fail(error) }
            }
            // No process has created the next center yet.
            do throws(SharedNotificationError) {
                while try !observer.awaitSuccessor(), !lock.withLock({ roles.isStopped }) {}
            } catch {
                return fail(error)
            }
        }
    }

    /// Nothing more arrives from a center that has ended, so no poster waits for that.
    private func leave(_ ended: CenterHandle) {
        lock.withLock {
            for observation in table.observations where observation.notesArrivals {
                observation.note(.max, in: ended.incarnation)
            }
        }
    }

    /// Calls the diagnostics hook between two deliveries. The hook is user code: during the call, as during a closure,
    /// a thread that ends the last observation does not wait for the leader.
    private func report(
        _ diagnostic: SharedNotificationCenter.Diagnostic, to diagnostics: Diagnostics, _ tenure: Roles.Tenure
    ) -> Routed {
        // No watch: the leader is not deposed here, because no observation is `running`.
        lock.withLock { _ = roles.handlerBegins(others: false) }
        diagnostics.report(diagnostic)
        return lock.withLock {
            _ = roles.handlerReturns(tenure)
            return roles.isStopped ? .stopped : .goOn
        }
    }

    /// No more notifications come. Iterators get the waiting items and then the error; closures get the waiting items.
    /// The center's diagnostics get the error.
    private func fail(_ error: SharedNotificationError) -> Routed {
        let served = stopServing(.ended(error))
        for observation in served where !observation.isPulled && lock.withLock({ observation.machine.isIdle }) {
            observation.cancel(waiting: false)
        }
        served.first?.diagnostics.report(.dispatchFailed(error))
        return .stopped
    }

    /// A check by the watch. False: stop checking.
    func look() -> Bool {
        lock.withLock {
            let now = pulse.load(ordering: .acquiring)
            if now != detachedAt { freeDetached() }
            switch roles.look(pulse: now) {
            case .rest: return false
            case .again:
                begun = leaderNumber.flatMap(ThreadTime.look)
                return true
            case .depose:
                // The same closure as at the last check. Without `/proc`, the elapsed time decides.
                guard HandlerWatch.hangs(since: begun, now: leaderNumber.flatMap(ThreadTime.look)) else { return true }
                guard let running, let old = thread else { return true }
                // The closure goes on to read the payload where it is. The next check tries again if there is no memory
                // for a copy, or no thread.
                if detached == nil {
                    guard observer.detachPayload(&detached) else { return true }
                    detachedAt = now
                }
                guard (try? startLeader(resuming: true)) != nil else { return true }
                old.detach()
                (leaderNumber, begun) = (nil, nil)
                running._withUnsafeGuaranteedRef {
                    $0.queue = $0.queue ?? $0.lane?.queue ?? DispatchQueue(label: "tidings.observer")
                    $0.machine.setAside()
                    $0.detached = detached
                }
                detached = nil
                // Even, because the new leader is in no closure yet.
                beat()
                self.running = nil
                return true
            }
        }
    }
}
