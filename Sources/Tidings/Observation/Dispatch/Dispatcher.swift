// Serving observations: adding and removing them, starting and stopping the thread, moving to another center.
import Glibc
import Synchronization

/// One C observer, the thread that reads from it, and the observations that this thread serves.
///
/// A center object has one dispatcher for all its ordinary observations, and one for each observation that starts with
/// history or is lossless. The thread begins with the first observation and ends with the last. An ended dispatcher is
/// not used again: a later observation gets a new one.
///
/// One lock guards the dispatcher and its observations. While it is held, no user code runs, and no reference is
/// released that could be the last one to a closure.
final class Dispatcher: @unchecked Sendable {
    // Sendable: `lock` guards the properties that change. Only the leader (`Roles`) accesses the properties of the
    // leader, and a change of leaders happens under `lock`.
    let lock = Lock()
    let observer: ObserverHandle
    let isShared: Bool
    private let generation = Forking.generation

    // MARK: Guarded by the lock

    // Unchecked: the lock excludes concurrent accesses, and no access here spans a call that could access the property
    // again.
    @exclusivity(unchecked) var roles = Roles()
    @exclusivity(unchecked) var thread: WorkerThread?
    /// The observation whose closure the leader is in. The leader's own reference keeps it alive until this is `nil`
    /// again.
    @exclusivity(unchecked) var running: Unmanaged<Observation>?
    @exclusivity(unchecked) var table = SubscriptionTable()
    /// The lanes: the order of each object's registrations. A lane also stays while one of its closures runs, even if
    /// the object has no registration left, because the closure may register again.
    private var lanes: [ObjectIdentifier: Lane] = [:]
    /// The incarnations of the centers served, in their order.
    private(set) var incarnations: [UInt64]
    /// The leader's thread id, and its thread time when the watch first saw it in the present closure.
    var leaderNumber: Int32?
    var begun: ThreadTime?
    /// The memory of the payload that the running closure reads, if a new leader could not be started. `detachedAt` is
    /// the pulse during that closure.
    var detached: UnsafeMutableRawPointer?
    var detachedAt: UInt64 = 0
    /// The leader's position while it waits for room in a lossless observation's buffer.
    @exclusivity(unchecked) var waitsAt: UInt64?
    private(set) var core: CenterCore?
    /// Observations that a failed move left without subscriptions.
    private var unserved: [Observation] = []
    /// Observations that end when the leader has passed a position of the center that it serves; `nil`: it has.
    private var finishing: [(observation: Observation, position: UInt64?)] = []
    /// True if no thread joins the leader at its end: the leader then closes the observer itself.
    private var endsItself = false

    // MARK: The leader's

    /// How many of the current delivery's subscriptions have been served.
    @exclusivity(unchecked) var position = 0
    /// The centerNames of the center that the leader serves. A deposed thread keeps the previous object for its
    /// closure.
    @exclusivity(unchecked) private(set) var centerNames: CenterNames
    /// Odd while the leader is in a closure. The leader's store releases what it did with the current delivery before,
    /// and the watch's load acquires it. So a new leader can go on with that delivery.
    ///
    /// Only `beat` changes it. The watch calls that while the leader is in a closure, and the leader otherwise: one
    /// thread at a time.
    let pulse = Atomic<UInt64>(0)

    @inline(__always)
    func beat() { pulse.store(pulse.load(ordering: .relaxed) &+ 1, ordering: .releasing) }

    /// - Parameter subscription: the only subscription of a dispatcher of its own; `nil`: the dispatcher is shared.
    init(core: CenterCore, center: CenterHandle, for subscription: Subscription?) throws(SharedNotificationError) {
        observer = try ObserverHandle(
            center: center, lossless: subscription?.isLossless ?? false, inPlace: subscription?.inPlace)
        centerNames = CenterNames(center: center)
        isShared = subscription == nil
        self.core = core
        incarnations = [center.incarnation]
        if let subscription { try observer.seek(to: subscription.start) }
    }

    deinit { freeDetached() }

    /// Call when the closure that read it has returned: with the lock held, or at the end of this object.
    func freeDetached() {
        free(detached)
        detached = nil
    }

    /// Whether this was made before the fork that created this process. Then it has no thread, and the lock may be held
    /// for ever.
    var isForked: Bool { generation != Forking.generation }

    /// Adds an observation. False: the dispatcher has ended, use another one.
    func add(_ observation: Observation) throws(SharedNotificationError) -> Bool {
        var shouldWatch = false
        let isAdded = try lock.withLock { () throws(SharedNotificationError) -> Bool in
            if roles.isStopped { return false }
            do throws(SharedNotificationError) {
                try enter(observation)
                if !roles.isLed { try startLeader(resuming: false) }
            } catch {
                leave(observation)
                throw error
            }
            shouldWatch = isShared && roles.othersArrive()
            return true
        }
        if shouldWatch { HandlerWatch.shared.watch(self) }
        return isAdded
    }

    /// How many centers the dispatcher has served.
    var moves: Int { lock.withLock { incarnations.count } }

    /// Waits until the leader has served more centers than `moves`. False: that did not happen within so many
    /// nanoseconds, the caller is the leader, or the dispatcher has ended.
    func waitUntilMoved(beyond moves: Int, within nanoseconds: UInt64 = 1_000_000_000) -> Bool {
        // If a closure keeps the leader busy, the watch sets it aside.
        if lock.withLock({ isShared && roles.othersArrive() }) { HandlerWatch.shared.watch(self) }
        let deadline = Lock.now + nanoseconds
        return lock.withLock {
            while incarnations.count == moves {
                guard thread != .current, !roles.isStopped, lock.wait(until: deadline) else { return false }
            }
            return true
        }
    }

    /// Call with the lock held, so that no delivery of a new subscription is routed before the subscription is in the
    /// table.
    private func enter(_ observation: Observation) throws(SharedNotificationError) {
        try look(for: observation, observation.subscription)
        if observation.notesArrivals, let center = observer.center { observation.note(0, in: center.incarnation) }
        guard isShared, let object = observation.object else { return }
        let lane = lanes[object] ?? Lane()
        lanes[object] = lane
        lane.members.append(observation)
        observation.lane = lane
    }

    private func look(for observation: Observation, _ subscription: Subscription) throws(SharedNotificationError) {
        try observer.add(subscription) { name, number in
            observation.subscriptions.append(number)
            table.add(observation, name: name, as: number)
        }
    }

    private func leave(_ observation: Observation) {
        lookAway(from: observation)
        // The observation keeps its lane, because its closure may be running.
        guard let object = observation.object, let lane = observation.lane else { return }
        lane.members.removeAll { $0 === observation }
        // A block or task for the forgotten lane may still be scheduled. It finds no member and does nothing.
        if !lane.isRunning { forget(lane, of: object) }
    }

    private func forget(_ lane: Lane, of object: ObjectIdentifier) {
        if lane.members.isEmpty, lanes[object] === lane { lanes[object] = nil }
    }

    /// Call with the lock held when no item waits in that lane and none of its closures runs. Pass the result to
    /// `finish`, without the lock.
    func rests(_ lane: Lane, of object: ObjectIdentifier) -> Roles.Stop {
        guard lane.members.isEmpty else { return .nothing }
        forget(lane, of: object)
        return stopIfUnused()
    }

    private func lookAway(from observation: Observation) {
        for number in observation.subscriptions {
            observer.remove(number)
            table.remove(number)
        }
        observation.subscriptions = []
    }

    /// Ends an iterator's observation after everything that is posted before this call.
    func finish(_ observation: Observation) {
        guard !isForked else { return }
        lock.withLock {
            guard !roles.isStopped, !finishing.contains(where: { $0.observation === observation }) else { return }
            finishing.append((observation, observer.end))
            // Wakes the leader: it may sleep for long, because nothing is posted. With the lock held, so that the C
            // observer is open.
            observer.interrupt()
        }
    }

    /// Whether observations wait for their end.
    var isFinishing: Bool { lock.withLock { !finishing.isEmpty } }

    /// Ends the observations whose position the leader has passed; with `all`, all of them. Only the leader calls it,
    /// when it has routed every delivery that it has taken. True: some are left.
    func finishReached(all: Bool = false) -> Bool {
        let position = observer.position
        let (reached, waiting, isLeft) = lock.withLock {
            let reached = finishing.filter { all || $0.position ?? 0 <= position }
            finishing.removeAll { each in reached.contains { $0.observation === each.observation } }
            var waiting: [UnsafeContinuation<Item?, Never>] = []
            for (observation, _) in reached {
                observation.machine.finish()
                waiting += observation.pulling
                observation.pulling = []
            }
            return (reached, waiting, !finishing.isEmpty)
        }
        // An iterator waits only if no item does.
        for continuation in waiting { continuation.resume(returning: nil) }
        // Released without the lock.
        withExtendedLifetime(reached) {}
        return isLeft
    }

    /// Removes an observation, with the lock held. Pass the result to `finish`, without the lock.
    func remove(_ observation: Observation) -> Roles.Stop {
        let isUnserved = unserved.contains { $0 === observation }
        if isUnserved { unserved.removeAll { $0 === observation } }
        let isServed = isUnserved || !observation.subscriptions.isEmpty
        finishing.removeAll { $0.observation === observation }
        leave(observation)
        return isServed ? stopIfUnused() : .nothing
    }

    private func stopIfUnused() -> Roles.Stop {
        guard !roles.isStopped, table.isEmpty, unserved.isEmpty, lanes.isEmpty else { return .nothing }
        let stop = roles.stop(byLeader: thread == .current)
        endsItself = stop == .detach
        // Wakes a thread in `waitUntilMoved`: the leader will not move any more.
        lock.wakeAll()
        return stop
    }

    /// Ends the thread, as `remove` decided.
    func finish(_ stop: Roles.Stop) {
        switch stop {
        case .nothing: return
        case .join:
            observer.interrupt()
            thread?.join()
            close()
        case .detach:
            // The leader checks `isStopped` when the closure returns, and needs no interrupt.
            thread?.detach()
        }
    }

    /// Ends serving and returns the observations that were served. Only the leader calls it. Waiting items stay, and
    /// iterators get `last` after them.
    func stopServing(_ last: Item) -> [Observation] {
        var stop = Roles.Stop.nothing
        let (served, ends) = lock.withLock {
            let served = table.observations + unserved
            unserved = []
            // `served` has them, too.
            finishing = []
            for observation in served { lookAway(from: observation) }
            stop = roles.stop(byLeader: true)
            lock.wakeAll()
            if stop == .detach { endsItself = true }
            return (served, served.map { $0.endPulls(last) })
        }
        finish(stop)
        for end in ends { end() }
        return served
    }

    /// Serves the same observations in another center, and returns them. Only the leader calls it.
    ///
    /// The observations receive the values retained there. Those that started with history receive the history there.
    /// `nil`: the dispatcher is stopped. If this throws, the next call also serves the observations that this call did
    /// not reach.
    func move(to center: CenterHandle) throws(SharedNotificationError) -> [Observation]? {
        var old: CenterHandle?
        defer { withExtendedLifetime(old) {} }
        return try lock.withLock { () throws(SharedNotificationError) in
            guard !roles.isStopped else { return nil }
            old = try observer.move(to: center)
            centerNames.close()
            centerNames = CenterNames(center: center)
            incarnations.append(center.incarnation)
            // Everything in the ended center has been delivered.
            for index in finishing.indices { finishing[index].position = nil }
            lock.wakeAll()
            let served = table.observations + unserved
            unserved = []
            // The numbers belong to the old C observer.
            table.removeAll()
            for observation in served { observation.subscriptions = [] }
            do throws(SharedNotificationError) {
                for observation in served {
                    var subscription = observation.subscription
                    if subscription.start != .now { subscription.start = .oldest }
                    try observer.seek(to: subscription.start)
                    try look(for: observation, subscription)
                    if observation.notesArrivals { observation.note(observer.position, in: center.incarnation) }
                }
            } catch {
                unserved = served.filter { $0.subscriptions.isEmpty }
                throw error
            }
            return served
        }
    }

    /// Call at the end of the leader's thread.
    func end() { if lock.withLock({ endsItself }) { close() } }

    /// Call with the lock held, or before another thread knows the dispatcher.
    func startLeader(resuming: Bool) throws(SharedNotificationError) {
        // The new thread takes the lock before it reads any of this.
        var next = roles
        let tenure = next.lead()
        let isFirst = !roles.isLed
        thread = try WorkerThread("to dispatch notifications") { self.lead(tenure, resuming: resuming) }
        roles = next
        if isFirst, isShared { HandlerWatch.shared.begin() }
    }

    /// Closes the C observer, which frees its entry, and removes this dispatcher from the center. Called by the last
    /// leader at its end, or by the thread that has joined it.
    private func close() {
        observer.close()
        centerNames.close()
        if isShared { HandlerWatch.shared.end() }
        let core = lock.withLock {
            defer { self.core = nil }
            return self.core
        }
        core?.forget(self)
    }
}
