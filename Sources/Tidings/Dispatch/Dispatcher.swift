import Synchronization

/// One C observer, the thread that reads from it, and those who are served.
///
/// A center object has one for all its ordinary observations, and one for each that starts with history or is lossless. The
/// thread begins with the first observation and ends with the last; then the dispatcher is done with, and a later
/// observation gets a new one.
///
/// One lock guards the dispatcher and its observations. No user code, and nothing that releases what a closure holds, runs with it held.
final class Dispatcher: @unchecked Sendable {
    // Sendable: what changes is guarded by `lock`, except what the leader alone touches (`Roles`), handed over under `lock` too.
    let lock = Lock()
    let observer: ObserverHandle
    let isShared: Bool
    private let generation = Forking.generation

    // MARK: Guarded by the lock

    // Unchecked: what excludes two threads from each other is the lock, and no access here spans a call to anything that comes back.
    @exclusivity(unchecked) var roles = Roles()
    @exclusivity(unchecked) var thread: WorkerThread?
    /// The observation whose closure the leader is in. The leader's own reference keeps it until this is `nil` again.
    @exclusivity(unchecked) var running: Unmanaged<Observation>?
    @exclusivity(unchecked) var table = SubscriptionTable()
    /// The order of each object's registrations, also of one that has none left while one of its closures runs: it may register again there.
    private var lanes: [ObjectIdentifier: Lane] = [:]
    /// Of the centers served, in their order.
    private(set) var incarnations: [UInt64]
    /// The leader's number, and what it had spent its time on when the watch first saw it in the present closure.
    var leaderNumber: Int32?
    var begun: ThreadTime?
    /// Where the leader stands that waits for room in a lossless observation's buffer.
    @exclusivity(unchecked) var waitsAt: UInt64?
    private(set) var core: CenterCore?
    /// Observations that a failed move left without subscriptions.
    private var unserved: [Observation] = []
    /// Nobody waits for the leader's end: it closes what is to be closed.
    private var endsItself = false

    // MARK: The leader's

    /// How many of the current delivery's interests have been served.
    @exclusivity(unchecked) var position = 0
    /// Of the center that the leader serves. A thread that was deposed keeps those it had, for the closure it is in.
    @exclusivity(unchecked) private(set) var executables: ExecutableNames
    /// Odd while the leader is in a closure. Its store releases, and the watch's load acquires, all the leader did before with the current
    /// delivery: a new leader goes on with that.
    let pulse = Atomic<UInt64>(0)

    /// - Parameter interest: whose own it is; `nil`: shared.
    init(core: CenterCore, center: CenterHandle, for subscription: Subscription?) throws(SharedNotificationError) {
        observer = try ObserverHandle(center: center, lossless: subscription?.isLossless ?? false)
        executables = ExecutableNames(center: center)
        isShared = subscription == nil
        self.core = core
        incarnations = [center.incarnation]
        if let subscription { try observer.seek(to: subscription.start) }
    }

    /// Made before a fork that this process is the child of: there is no thread, and the lock may be held for ever.
    var isForked: Bool { generation != Forking.generation }

    /// Takes an observation in. False: the dispatcher has ended, take another one.
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

    /// How many centers it has served.
    var moves: Int { lock.withLock { incarnations.count } }

    /// Returns when the leader serves another center than it did at so many moves. False: not within so many nanoseconds,
    /// or the caller is the leader, or the dispatcher has ended.
    func waitUntilMoved(beyond moves: Int, within nanoseconds: UInt64 = 1_000_000_000) -> Bool {
        // A closure that keeps the leader is set aside.
        if lock.withLock({ isShared && roles.othersArrive() }) { HandlerWatch.shared.watch(self) }
        let deadline = Lock.now + nanoseconds
        return lock.withLock {
            while incarnations.count == moves {
                guard thread != .current, !roles.isStopped, lock.wait(until: deadline) else { return false }
            }
            return true
        }
    }

    /// With the lock held, so that no delivery of a new interest is routed before it is in the table.
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
        // The lane itself stays the observation's: its closure may be running.
        guard let object = observation.object, let lane = observation.lane else { return }
        lane.members.removeAll { $0 === observation }
        // A block or task may still be on its way for a lane that is forgotten here. It finds no member, and does nothing.
        if !lane.isRunning { forget(lane, of: object) }
    }

    private func forget(_ lane: Lane, of object: ObjectIdentifier) {
        if lane.members.isEmpty, lanes[object] === lane { lanes[object] = nil }
    }

    /// Nothing waits in that lane, and none of its closures runs, with the lock held. What it returns is for `finish`, without the lock.
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

    /// Lets an observation go, with the lock held. What it returns is for `finish`, without the lock.
    func remove(_ observation: Observation) -> Roles.Stop {
        let isUnserved = unserved.contains { $0 === observation }
        if isUnserved { unserved.removeAll { $0 === observation } }
        let isServed = isUnserved || !observation.subscriptions.isEmpty
        leave(observation)
        return isServed ? stopIfUnused() : .nothing
    }

    private func stopIfUnused() -> Roles.Stop {
        guard !roles.isStopped, table.isEmpty, unserved.isEmpty, lanes.isEmpty else { return .nothing }
        let stop = roles.stop(byLeader: thread == .current)
        endsItself = stop == .detach
        // A thread in `waitUntilMoved`: the leader will not move any more.
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
            // It looks at `isStopped` when the closure returns, and needs no interrupt.
            thread?.detach()
        }
    }

    /// Ends serving; the leader calls it. Returns the observations that were served. Waiting items stay, and iterators get `last` after them.
    func stopServing(_ last: Item) -> [Observation] {
        var stop = Roles.Stop.nothing
        let (served, ends) = lock.withLock {
            let served = table.observations + unserved
            unserved = []
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

    /// Serves the same observations in another center; the leader calls it. They receive the values retained there, and those that
    /// started with history receive the history there. Returns them; `nil`: the dispatcher is stopped. If it throws, the next call
    /// serves the observations that this one did not come to.
    func move(to center: CenterHandle) throws(SharedNotificationError) -> [Observation]? {
        var old: CenterHandle?
        defer { withExtendedLifetime(old) {} }
        return try lock.withLock { () throws(SharedNotificationError) in
            guard !roles.isStopped else { return nil }
            old = try observer.move(to: center)
            executables.close()
            executables = ExecutableNames(center: center)
            incarnations.append(center.incarnation)
            lock.wakeAll()
            let served = table.observations + unserved
            unserved = []
            // The numbers were the old observer's.
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

    /// The leader's end.
    func end() {
        if lock.withLock({ endsItself }) { close() }
    }

    /// With the lock held, or before anybody else knows the dispatcher.
    func startLeader(resuming: Bool) throws(SharedNotificationError) {
        // The thread looks at nothing before it has had the lock.
        var next = roles
        let tenure = next.lead()
        let isFirst = !roles.isLed
        thread = try WorkerThread { self.lead(tenure, resuming: resuming) }
        roles = next
        if isFirst, isShared { HandlerWatch.shared.begin() }
    }

    /// The C observer's place is given back, and the center forgets this. By the last leader at its end, or who has waited for that.
    private func close() {
        observer.close()
        executables.close()
        if isShared { HandlerWatch.shared.end() }
        let core = lock.withLock {
            defer { self.core = nil }
            return self.core
        }
        core?.forget(self)
    }
}
