/// The state machine of one observation, as a value. Its methods take events and return the action, which the caller
/// performs outside. Guarded by the dispatcher's lock.
///
/// One thread or task at a time runs the closure, the **runner**. An item that can't be given to the closure at once
/// waits in the buffer. One **drain** at a time empties the buffer: a block on a queue, a task, or a deposed thread.
struct ObservationMachine {
    enum Runner: Equatable {
        case noRunner
        /// There is no runner, and there has never been one.
        case noRunnerYet
        case thread(WorkerThread)
        case task
    }

    enum Arrives: Equatable {
        /// The observation has been cancelled.
        case ignore
        /// Run the closure on this thread.
        case run
        /// Make a lasting copy, and `keep` it.
        case keep
    }

    enum Keeps: Equatable {
        case ignore
        /// The item is in the buffer.
        case kept
        /// The item is in the buffer, and no drain is active: start one.
        case keptAndDrain
        /// Lossless, and there is no room: wait.
        case wait
    }

    private let isLossless: Bool
    /// The closure has no queue and runs on the dispatcher thread.
    private let isInline: Bool
    /// `isInline`, and the observation is not suspended.
    private var runsInline: Bool
    /// False for an iterator, which takes its items itself.
    private let needsDrain: Bool
    /// The lane drains this observation, with the object's other registrations.
    private let isInLane: Bool
    private(set) var runner = Runner.noRunnerYet
    /// How often a drain has taken an item.
    private(set) var runs: UInt64 = 0
    private(set) var isCancelled = false
    /// Nothing arrives any more. What waits is still delivered.
    private(set) var isFinished = false
    private var isDraining = false
    private var aside: Aside?
    private(set) var buffer: DeliveryBuffer

    /// - Parameter held: the storage for items that arrive during a suspension; `nil`: the observation can't be
    ///   suspended.
    init(
        isInline: Bool, needsDrain: Bool, isLossless: Bool, bounds: DeliveryBuffer.Bounds, held: HeldItems? = nil,
        isInLane: Bool = false
    ) {
        self.isInLane = isInLane
        self.isInline = isInline
        runsInline = isInline
        self.held = held
        self.needsDrain = needsDrain
        self.isLossless = isLossless
        buffer = DeliveryBuffer(bounds)
        ordinary = bounds
        raised = bounds
        guard let held else { return }
        // The report of dropped items is one more item.
        raised.items.add(held.limit)
        raised.items.add(1)
        raised.bytes.add(HeldItems.bytes)
    }

    // MARK: On the dispatcher thread

    mutating func arrives(on thread: WorkerThread) -> Arrives {
        if isCancelled || isFinished { return .ignore }
        guard runsAtOnce else { return .keep }
        runner = .thread(thread)
        return .run
    }

    /// Everything that was posted before an iterator's end has arrived.
    mutating func finish() { isFinished = true }

    /// Whether the closure runs on the dispatcher thread for the next arrival.
    ///
    /// An item is kept also while a drain is active. An item that the leader kept just when the last drain ended and
    /// cleared `aside` waits for a drain of its own.
    var runsAtOnce: Bool { !isCancelled && runsInline && aside == nil && !isDraining }

    /// Whether an arriving payload may wait in the center's memory. During a suspension it could wait there for long.
    var mayHold: Bool { !isSuspended && buffer.inPlace < DeliveryBuffer.mostInPlace }

    mutating func keep(_ item: Item, isImmediate: Bool = false) -> Keeps {
        if isCancelled || isFinished { return .ignore }
        if isSuspended {
            guard isImmediate else {
                if isLossless, !held!.hasRoom(for: item) { return .wait }
                held!.push(item)
                return .kept
            }
            // Items that arrived earlier are delivered earlier.
            if !held!.isEmpty {
                held!.moveAll(to: &buffer, lossless: isLossless)
                buffer.push(item, dropping: !isLossless)
                return drains()
            }
        }
        if isLossless, item.canBeDropped, !buffer.hasRoom(for: item) { return .wait }
        buffer.push(item)
        return drains()
    }

    private mutating func drains() -> Keeps {
        if isDraining || !needsDrain { return .kept }
        isDraining = !isInLane
        return .keptAndDrain
    }

    /// Called after the closure that `arrives` started has returned.
    mutating func returns() { runner = .noRunner }

    // MARK: Draining

    /// Takes the next item for the closure. `nil`: there is no item, and this drain has ended.
    mutating func take(for runner: Runner) -> Item? {
        self.runner = .noRunner
        guard !isCancelled, let item = buffer.pop() else {
            isDraining = false
            settles()
            lowerBounds()
            return nil
        }
        self.runner = runner
        runs &+= 1
        return item
    }

    /// If nothing waits, a closure that has returned promptly often enough is no longer aside.
    mutating func settles() { if buffer.isEmpty, aside?.isOver == true { aside = nil } }

    /// Takes an item before the drain does; the drain then finds none. `nil`: there is no item, or the closure is
    /// running.
    mutating func takeEarly(for runner: Runner) -> Item? {
        guard !isRunning, !isCancelled, let item = buffer.pop() else { return nil }
        self.runner = runner
        return item
    }

    /// The drain pauses, and will be started again.
    mutating func pauses() { runner = .noRunner }

    /// Takes the next item for an iterator.
    mutating func pull() -> Item? { buffer.pop() }

    // MARK: Ending

    /// The observation has not ended, and no item has arrived.
    var isUnused: Bool { !isCancelled && runner == .noRunnerYet && buffer.isEmpty && held?.isEmpty != false }

    /// Nothing waits, and nothing runs.
    var isIdle: Bool { !isRunning && !isDraining && buffer.isEmpty && held?.isEmpty != false }

    var isRunning: Bool { runner != .noRunner && runner != .noRunnerYet }

    /// True for the first call.
    mutating func cancel() -> Bool {
        guard !isCancelled else { return false }
        isCancelled = true
        buffer.removeAll()
        held?.removeAll()
        return true
    }

    // MARK: Suspended

    /// The items that arrived during the suspension.
    private var held: HeldItems?
    private(set) var isSuspended = false
    private let ordinary: DeliveryBuffer.Bounds
    /// The ordinary bounds, and those of the held items.
    private var raised: DeliveryBuffer.Bounds

    /// Holds back later arrivals. Items that already wait in the buffer are still delivered.
    mutating func suspend() {
        guard held != nil else { return }
        // At the end of the suspension, the buffer takes all held items behind those that wait. It has its ordinary
        // bounds again once it has been empty. A lossless one takes the held items beyond its bounds.
        if !isLossless { buffer.bounds = raised }
        isSuspended = true
        runsInline = false
    }

    mutating func resume() -> Keeps {
        guard isSuspended else { return .ignore }
        isSuspended = false
        runsInline = isInline
        guard !isCancelled, !held!.isEmpty else {
            lowerBounds()
            return .ignore
        }
        held!.moveAll(to: &buffer, lossless: isLossless)
        return drains()
    }

    private mutating func lowerBounds() { if buffer.isEmpty, !isSuspended { buffer.bounds = ordinary } }

    // MARK: Set aside

    /// A plain closure that kept the dispatcher thread too long runs on a queue of its own from then on. It returns to
    /// the dispatcher thread after enough prompt runs in a row. Each further time doubles the required number.
    private struct Aside {
        var owed: Int
        var isOver: Bool { owed == 0 }
    }

    private var timesAside = 0
    // Enough runs to distinguish a single delay from a slow closure.
    private static let promptRuns = 64
    /// 5 ms: the limit for a prompt run; a tenth of what the watch tolerates.
    static let prompt: UInt64 = 5_000_000

    var isAside: Bool { aside != nil }

    /// The thread in the closure is no longer the leader: it drains the buffer.
    mutating func setAside() {
        aside = Aside(owed: Self.promptRuns << min(timesAside, 16))
        timesAside += 1
        isDraining = !isInLane
    }

    /// Records the duration of a run on the queue.
    mutating func ran(nanoseconds: UInt64) {
        guard let owed = aside?.owed else { return }
        aside!.owed = nanoseconds > Self.prompt ? Self.promptRuns << min(timesAside - 1, 16) : max(0, owed - 1)
    }
}
