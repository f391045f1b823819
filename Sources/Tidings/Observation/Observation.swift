// One observation, and the object inside its tokens.

internal import Dispatch
import Glibc
import Synchronization

/// One observation: its subscription, its closure, and its state. It belongs to one dispatcher, whose lock guards it.
final class Observation: @unchecked Sendable {
    // Sendable: mutable state is accessed with the dispatcher's lock held only.
    let subscription: Subscription
    let dispatcher: Dispatcher
    let diagnostics: Diagnostics
    /// `nil`: the center's diagnostics receive the losses.
    let onMissed: MissedHandler?

    /// Items that were passed to waiting iterators.
    let handovers = Atomic<UInt>(0)

    /// Accessed only by the thread or task that runs the closure.
    @exclusivity(unchecked) var suspicion = LoopSuspicion()

    // MARK: Guarded by the dispatcher's lock

    // Unchecked for the same reason as in the dispatcher.
    @exclusivity(unchecked) var machine: ObservationMachine
    /// `nil` after the end, so that what the closure holds is released.
    var manner: Manner?
    /// The closure of `manner` if it runs on the dispatcher thread; `nil` after the end.
    @exclusivity(unchecked) var plain: (@Sendable (Arrival) -> Void)?
    /// The observation's subscription numbers in the C observer.
    var subscriptions: [UInt32] = []
    /// Iterators that wait for an item.
    var pulling: [UnsafeContinuation<Item?, Never>] = []
    /// Callers that wait for the closure to return.
    var ending: [UnsafeContinuation<Void, Never>] = []
    /// The task that drains, and how many tasks were started.
    var task: Task<Void, Never>?
    var tasks: UInt64 = 0
    /// Whether progress is recorded in the next three properties: the center's incarnation, the sequence before which
    /// all has arrived, and the number of losses.
    let notesArrivals: Bool
    var reachedIn: UInt64 = 0
    var reached: UInt64 = 0
    var losses = 0
    /// Whether the closure receives a loss of 0 notifications when the observation moves to another center.
    let tellsMoves: Bool
    /// The queue for a plain closure that was set aside.
    var queue: DispatchQueue?
    /// The memory of the payload that a closure on a deposed thread reads.
    var detached: UnsafeMutableRawPointer?
    /// The object that is registered: the owner, or an observer by a protocol.
    let object: ObjectIdentifier?
    /// The lane that this observation shares with the object's other registrations in this dispatcher.
    var lane: Lane?

    init(
        subscription: Subscription, manner: Manner, bounds: DeliveryBuffer.Bounds, dispatcher: Dispatcher,
        diagnostics: Diagnostics, onMissed: MissedHandler?, held: HeldItems? = nil, notesArrivals: Bool = false,
        tellsMoves: Bool = false, object: ObjectIdentifier? = nil
    ) {
        self.object = object
        self.notesArrivals = notesArrivals
        self.tellsMoves = tellsMoves
        self.subscription = subscription
        self.manner = manner
        self.dispatcher = dispatcher
        self.diagnostics = diagnostics
        self.onMissed = onMissed
        if case .closure(nil, let handler) = manner { plain = handler }
        let needsDrain = if case .pull = manner { false } else { true }
        machine = ObservationMachine(
            isInline: plain != nil, needsDrain: needsDrain, isLossless: subscription.isLossless, bounds: bounds,
            held: held, isInLane: object != nil && !subscription.needsOwnDispatcher)
    }

    deinit { free(detached) }

    /// After the closure on the deposed thread has returned.
    func freeDetached() {
        free(
            dispatcher.lock.withLock {
                defer { detached = nil }
                return detached
            })
    }

    /// Whether an iterator takes the items.
    var isPulled: Bool {
        dispatcher.lock.withLock { if case .pull = manner { true } else { false } }
    }

    /// Called when the last token is released. If that happens within 100 µs and nothing has arrived, the caller has
    /// probably not stored the token: 100 µs are many times the time to store one.
    fileprivate func letGo(after nanoseconds: UInt64) {
        guard !dispatcher.isForked, nanoseconds < 100_000 else { return }
        let isUnused = dispatcher.lock.withLock {
            // An iterator is its own token.
            if case .pull = manner { return false }
            return machine.isUnused
        }
        if isUnused { diagnostics.tell(.tokenNotKept(subscription.patterns)) }
    }

    /// Reports a loss to `onMissed`, or to the diagnostics if it is `nil`.
    func reportMissed(_ count: Int, of name: SharedNotificationCenter.Name?) {
        diagnostics.countMissed(count)
        if let onMissed { onMissed(count, name) } else { diagnostics.report(.missed(count, name)) }
    }

    /// Runs a closure that is not asynchronous, in its context. `manner` is the caller's own copy, and is released
    /// before this returns. Otherwise what the closure holds could be released here after `cancel()` has returned on
    /// another thread.
    func run(_ manner: consuming Manner, with item: Item) {
        switch item {
        case .missed(let count, let name): reportMissed(count, of: name)
        case .arrival(let arrival): running(arrival) { manner.call(arrival) }
        case .reopened, .ended: break
        }
    }
}

extension Observation {
    /// Whether notifications still arrive for it.
    var isServed: Bool {
        !dispatcher.isForked && dispatcher.lock.withLock { !machine.isCancelled && !dispatcher.roles.isStopped }
    }
}

/// The shared reference in a token's copies: the observation ends when it is released.
final class ObservationAnchor: Hashable, Sendable {
    let observation: Observation
    /// Set after the observation was added, so the time that adding took does not count.
    private let begin = Lock.now

    init(_ observation: Observation) { self.observation = observation }

    deinit {
        observation.letGo(after: Lock.now - begin)
        observation.cancel(waiting: true)
    }

    static func == (left: ObservationAnchor, right: ObservationAnchor) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Whether the closure will not be called again. If dispatching failed, it still gets what waits for it.
    var isCancelled: Bool {
        let dispatcher = observation.dispatcher
        return dispatcher.isForked
            || dispatcher.lock.withLock {
                observation.machine.isCancelled || dispatcher.roles.isStopped && observation.machine.isIdle
            }
    }
}
