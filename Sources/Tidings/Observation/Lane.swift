internal import Dispatch

/// The registrations of one object with one dispatcher, as their owner or by a protocol. They share one order, and at
/// most one of their closures runs at a time, wherever each of them runs.
///
/// While nothing waits, the dispatcher thread runs plain closures at once, as for other observations. While an item
/// waits or a closure runs elsewhere, all arrivals for the members are kept. The lane then hands over the oldest item,
/// one by one. Guarded by the dispatcher's lock.
final class Lane {
    var members: [Observation] = []
    /// A closure of a member is running, or a scheduled block or task will run one.
    var isBusy = false
    /// A closure of a member is running. A new registration of the object must wait for it, and therefore needs this
    /// lane.
    var isRunning = false
    /// While a closure ran on the dispatcher thread, a resumption of the center object moved held items to the lane.
    var isResumed = false
    /// The queue for plain closures that can't run at once.
    lazy var queue = DispatchQueue(label: "tidings.observer")

    /// The member with the oldest waiting item. `nil`: nothing waits, and the lane is no longer busy.
    func next() -> Observation? {
        var oldest: (member: Observation, at: (Int, UInt64))?
        for member in members {
            guard let (incarnation, sequence) = member.machine.buffer.next else { continue }
            // Each center's positions begin at 0, so compare the centers first: items of an earlier center come first.
            let center = incarnation == 0 ? 0 : member.dispatcher.incarnations.lastIndex(of: incarnation) ?? 0
            if let oldest, oldest.at <= (center, sequence) { continue }
            oldest = (member, (center, sequence))
        }
        isBusy = oldest != nil
        return oldest?.member
    }
}

// Arrivals, which go through the lane if the observation has one. All with the dispatcher's lock held.
extension Observation {
    @inline(__always)
    func arrives(on thread: WorkerThread) -> ObservationMachine.Arrives {
        guard let lane else { return machine.arrives(on: thread) }
        if lane.isBusy { return machine.isCancelled ? .ignore : .keep }
        let arrives = machine.arrives(on: thread)
        if arrives == .run { (lane.isBusy, lane.isRunning) = (true, true) }
        return arrives
    }

    /// Called after the closure that `arrives` started has returned. True: items wait in the lane, and the caller
    /// starts it without the lock.
    @inline(__always)
    func returns() -> Bool {
        machine.returns()
        guard let lane else { return false }
        (lane.isBusy, lane.isRunning) = (false, false)
        if lane.isResumed {
            lane.isResumed = false
            if lane.next() != nil { return true }
        }
        // The stop is not waited for: this is the leader's thread, and the leader ends when it reads that it is
        // stopped.
        dispatcher.finish(dispatcher.rests(lane, of: object!))
        return false
    }

    /// As `machine.resume()`. If a closure of the lane runs, the held items wait for it.
    func resumes() -> ObservationMachine.Keeps {
        let keeps = machine.resume()
        guard keeps == .keptAndDrain, let lane else { return keeps }
        if lane.isBusy {
            lane.isResumed = true
            return .kept
        }
        lane.isBusy = true
        return keeps
    }

    func keep(_ item: Item, isImmediate: Bool) -> ObservationMachine.Keeps {
        let keeps = machine.keep(item, isImmediate: isImmediate)
        guard keeps == .keptAndDrain, let lane else { return keeps }
        if lane.isBusy { return .kept }
        lane.isBusy = true
        return keeps
    }
}

// Draining the buffers of a lane. All without the lock.
extension Observation {
    /// Continues with the oldest waiting item in the lane.
    func startLane() { while let next = nextInLane(), !next.startOne() {} }

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

    /// Schedules the next item in the context of this registration's closure, and then continues the lane. False: the
    /// registration was cancelled.
    private func startOne() -> Bool {
        let (manner, queue) = dispatcher.lock.withLock { (self.manner, lane?.queue) }
        return schedule(
            manner, queue, { $0.runLane() },
            inTask: {
                _ = await $0.runNextInTask()
                $0.leaveLane()
            })
    }

    /// Handles items while they are for this registration, up to one batch.
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

    /// Called after a closure of the lane has returned, in any context.
    func leaveLane() {
        pause()
        startLane()
    }
}
