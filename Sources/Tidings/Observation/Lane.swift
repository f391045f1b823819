internal import Dispatch

/// The registrations of one object with one dispatcher: targets, and observers by a protocol. They keep one order, and at most one of their
/// closures runs at a time, wherever each of them runs.
///
/// While nothing waits, the dispatcher thread runs plain closures at once, as it does for others. While something waits or runs elsewhere, all
/// that arrives for any of them is kept, and the lane hands on the oldest of it, one by one. Guarded by the dispatcher's lock.
final class Lane {
    var members: [Observation] = []
    /// One of the closures runs, or a block or task is on its way that will run one.
    var isBusy = false
    /// One of the closures runs. A new registration of the object has to wait for it, and therefore needs this lane.
    var isRunning = false
    /// Where plain closures run that can't run at once.
    lazy var queue = DispatchQueue(label: "tidings.observer")

    /// The member that the oldest of what waits is for. `nil`: nothing waits, the lane is not busy any more.
    func next() -> Observation? {
        var oldest: (member: Observation, at: (Int, UInt64))?
        for member in members {
            guard let (incarnation, sequence) = member.machine.buffer.next else { continue }
            // A center's positions begin at 0, and what waits of the center before comes first.
            let center = incarnation == 0 ? 0 : member.dispatcher.incarnations.lastIndex(of: incarnation) ?? 0
            if let oldest, oldest.at <= (center, sequence) { continue }
            oldest = (member, (center, sequence))
        }
        isBusy = oldest != nil
        return oldest?.member
    }
}

// What arrives, and goes through the lane if there is one. All with the dispatcher's lock held.
extension Observation {
    @inline(__always)
    func arrives(on thread: WorkerThread) -> ObservationMachine.Arrives {
        guard let lane else { return machine.arrives(on: thread) }
        if lane.isBusy { return machine.isCancelled ? .ignore : .keep }
        let arrives = machine.arrives(on: thread)
        if arrives == .run { (lane.isBusy, lane.isRunning) = (true, true) }
        return arrives
    }

    /// The closure that `arrives` let run has returned. Nothing waits: only this thread has what could.
    @inline(__always)
    func returns() {
        machine.returns()
        guard let lane else { return }
        (lane.isBusy, lane.isRunning) = (false, false)
        // On the leader's thread: it ends when it sees that it is stopped, and nobody waits for that.
        dispatcher.finish(dispatcher.rests(lane, of: object!))
    }

    func keep(_ item: Item, isImmediate: Bool) -> ObservationMachine.Keeps {
        let keeps = machine.keep(item, isImmediate: isImmediate)
        guard keeps == .keptAndDrain, let lane else { return keeps }
        if lane.isBusy { return .kept }
        lane.isBusy = true
        return keeps
    }
}

// Emptying the buffers of a lane. All without the lock.
extension Observation {
    /// Goes on with the oldest of what waits in the lane.
    func startLane() {
        while let next = nextInLane(), !next.startOne() {}
    }

    private func nextInLane() -> Observation? {
        var stop = Roles.Stop.nothing
        let next = dispatcher.lock.withLock { () -> Observation? in
            guard let lane else { return nil }
            if let next = lane.next() { return next }
            stop = dispatcher.rests(lane, of: object!)
            return nil
        }
        dispatcher.finish(stop)
        return next
    }

    /// Has the next item handled where this registration's closure runs, and then the lane go on. False: it was cancelled.
    private func startOne() -> Bool {
        let (manner, queue) = dispatcher.lock.withLock { (self.manner, lane?.queue) }
        switch manner {
        case nil, .pull:
            return false
        case .closure(let given, _):
            (given ?? queue)!.async { self.runLane() }
        case .mainActor:
            Task { @MainActor in
                self.runOneOnMainActor()
                self.leaveLane()
            }
        case .isolated(let reference, _):
            guard let actor = reference.actor else {
                cancel(waiting: false)
                return false
            }
            Task {
                await self.runOne(on: actor)
                self.leaveLane()
            }
        case .task(let executor, _):
            startTask(executor) {
                _ = await self.runNextInTask()
                self.leaveLane()
            }
        }
        return true
    }

    /// On a queue: one item after the other as long as they are for this registration, up to a batch.
    private func runLane() {
        let isTimed = dispatcher.lock.withLock { machine.isAside }
        for _ in 0..<Self.batch {
            _ = runNext(isTimed: isTimed)
            pause()
            guard let next = nextInLane() else { return }
            guard next === self else {
                if !next.startOne() { startLane() }
                return
            }
        }
        startLane()
    }

    @MainActor
    private func runOneOnMainActor() {
        _ = runNextOnMainActor()
    }

    private func runOne(on actor: isolated any Actor) {
        _ = runNext(on: actor)
    }

    /// One of the lane's closures has returned, wherever it ran.
    func leaveLane() {
        pause()
        startLane()
    }
}
