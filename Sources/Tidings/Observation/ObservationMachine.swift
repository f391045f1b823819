/// One observation's life, as a value: events go in, what to do comes out, and is done outside. Guarded by its dispatcher's lock.
///
/// The closure is run by one thread or task at a time, the **runner**. What can't be given to it at once waits in the buffer, which
/// one **drain** at a time empties: a block on a queue, a task, or a thread that was deposed.
struct ObservationMachine {
    enum Runner: Equatable {
        case nobody
        /// And nobody ever was.
        case nobodyYet
        case thread(WorkerThread)
        case task
    }

    enum Arrives: Equatable {
        /// Not any more.
        case ignore
        /// Run the closure on this thread.
        case run
        /// Make a lasting copy, and `keep` it.
        case keep
    }

    enum Keeps: Equatable {
        case ignore
        /// It is in the buffer.
        case kept
        /// It is in the buffer, and nobody is there to take it out: start a drain.
        case keptAndDrain
        /// Lossless, and there is no room: wait.
        case wait
    }

    private let isLossless: Bool
    /// A closure without a queue.
    private let isInline: Bool
    /// Nor while it is suspended.
    private var runsInline: Bool
    /// Not for one who asks by himself.
    private let needsDrain: Bool
    /// Its lane drains it, with the object's others.
    private let isInLane: Bool
    private(set) var runner = Runner.nobodyYet
    /// How often an item was taken by a drain.
    private(set) var runs: UInt64 = 0
    private(set) var isCancelled = false
    private var isDraining = false
    private var aside: Aside?
    private(set) var buffer: DeliveryBuffer

    /// - Parameter held: for what comes while it is suspended; `nil`: it can't be.
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
    }

    // MARK: On the dispatcher thread

    mutating func arrives(on thread: WorkerThread) -> Arrives {
        if isCancelled { return .ignore }
        // Not beside a drain either: what the leader kept just when the last drain ended and took `aside` with it waits for a drain of its own.
        guard runsInline, aside == nil, !isDraining else { return .keep }
        runner = .thread(thread)
        return .run
    }

    mutating func keep(_ item: Item, isImmediate: Bool = false) -> Keeps {
        if isCancelled { return .ignore }
        if isSuspended {
            guard isImmediate else {
                if isLossless, !held!.hasRoom(for: item) { return .wait }
                held!.push(item)
                return .kept
            }
            // What came before it goes before it.
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

    /// The closure that `arrives` let run has returned.
    mutating func returns() {
        runner = .nobody
    }

    // MARK: Draining

    /// The next for the closure. `nil`: there is nothing, and this drain has ended.
    mutating func take(for runner: Runner) -> Item? {
        self.runner = .nobody
        guard !isCancelled, let item = buffer.pop() else {
            isDraining = false
            settles()
            return nil
        }
        self.runner = runner
        runs &+= 1
        return item
    }

    /// Nothing waits: one that has returned promptly often enough is not aside any more.
    mutating func settles() {
        if buffer.isEmpty, aside?.isOver == true { aside = nil }
    }

    /// Takes ahead of the drain, which finds nothing then. `nil`: there is nothing, or the closure is running.
    mutating func takeEarly(for runner: Runner) -> Item? {
        guard !isRunning, !isCancelled, let item = buffer.pop() else { return nil }
        self.runner = runner
        return item
    }

    /// The drain makes a pause, and will be started again.
    mutating func pauses() {
        runner = .nobody
    }

    /// Takes for one who asks by himself, an iterator.
    mutating func pull() -> Item? {
        buffer.pop()
    }

    // MARK: Ending

    /// It is going on, and nothing has come yet.
    var isUnused: Bool { !isCancelled && runner == .nobodyYet && buffer.isEmpty && held?.isEmpty != false }

    /// Nothing waits, and nothing runs.
    var isIdle: Bool { !isRunning && !isDraining && buffer.isEmpty && held?.isEmpty != false }

    var isRunning: Bool { runner != .nobody && runner != .nobodyYet }

    /// True the first time.
    mutating func cancel() -> Bool {
        guard !isCancelled else { return false }
        isCancelled = true
        buffer.removeAll()
        held?.removeAll()
        return true
    }

    // MARK: Suspended

    /// What came while it was suspended.
    private var held: HeldItems?
    private(set) var isSuspended = false

    /// From now on what arrives is held back. What waits already does not.
    mutating func suspend() {
        guard held != nil else { return }
        isSuspended = true
        runsInline = false
    }

    mutating func resume() -> Keeps {
        guard isSuspended else { return .ignore }
        isSuspended = false
        runsInline = isInline
        guard !isCancelled, !held!.isEmpty else { return .ignore }
        held!.moveAll(to: &buffer, lossless: isLossless)
        return drains()
    }

    // MARK: Set aside

    /// A plain closure that kept the dispatcher thread too long runs on a queue of its own from then on, until it has returned promptly often enough
    /// in a row. Each further time that takes twice as many.
    private struct Aside {
        var owed: Int
        var isOver: Bool { owed == 0 }
    }

    private var timesAside = 0
    // Enough to tell a hiccup from a habit.
    private static let promptRuns = 64
    /// 5 ms: what still counts as prompt; a tenth of what the watch tolerates.
    static let prompt: UInt64 = 5_000_000

    var isAside: Bool { aside != nil }

    /// The thread the closure is in does not lead any more: it drains.
    mutating func setAside() {
        aside = Aside(owed: Self.promptRuns << min(timesAside, 16))
        timesAside += 1
        isDraining = !isInLane
    }

    /// A run on the queue took so many nanoseconds.
    mutating func ran(nanoseconds: UInt64) {
        guard let owed = aside?.owed else { return }
        aside!.owed = nanoseconds > Self.prompt ? Self.promptRuns << min(timesAside - 1, 16) : max(0, owed - 1)
    }
}
