internal import Dispatch

/// One observation: what to do with what arrives, and how far it is. Belongs to one dispatcher, whose lock guards it.
final class Observation: @unchecked Sendable {
    // Sendable: what changes is touched with the dispatcher's lock held only.
    let subscription: Subscription
    let dispatcher: Dispatcher
    let diagnostics: Diagnostics
    /// `nil`: the center's diagnostics are told.
    let onMissed: MissedHandler?

    /// Of whoever runs the closure.
    @exclusivity(unchecked) var suspicion = LoopSuspicion()

    // MARK: Guarded by the dispatcher's lock

    // Unchecked for the reason that the dispatcher gives.
    @exclusivity(unchecked) var machine: ObservationMachine
    /// `nil` after the end, so that what the closure holds is released.
    var manner: Manner?
    /// The closure of `manner` if it runs on the dispatcher thread; `nil` likewise.
    @exclusivity(unchecked) var plain: (@Sendable (Arrival) -> Void)?
    /// The numbers it has in the C observer.
    var subscriptions: [UInt32] = []
    /// Iterators that wait for an item.
    var pulling: [UnsafeContinuation<Item?, Never>] = []
    /// Those who wait for the closure to return.
    var ending: [UnsafeContinuation<Void, Never>] = []
    /// The task that drains, and how many were started.
    var task: Task<Void, Never>?
    var tasks: UInt64 = 0
    /// Whether it is noted how far it has come: in the center of which incarnation, to before which sequence, and how often something was lost.
    let notesArrivals: Bool
    var reachedIn: UInt64 = 0
    var reached: UInt64 = 0
    var losses = 0
    /// Whether its closure is told, as of a loss of nothing, that it goes on in another center.
    let tellsMoves: Bool
    /// Where a plain closure runs that was set aside.
    var queue: DispatchQueue?
    /// Whose registration it is: a target's, or an observer's by a protocol.
    let object: ObjectIdentifier?
    /// What it shares with the object's other registrations that this dispatcher serves.
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

    /// An iterator asks for what comes.
    var isPulled: Bool {
        dispatcher.lock.withLock { if case .pull = manner { true } else { false } }
    }

    /// Nobody keeps it any more. If nobody ever did, that was hardly meant: 100 µs are many times what it takes to store a token.
    fileprivate func letGo(after nanoseconds: UInt64) {
        guard !dispatcher.isForked, nanoseconds < 100_000 else { return }
        let isUnused = dispatcher.lock.withLock {
            // An iterator is its own token.
            if case .pull = manner { return false }
            return machine.isUnused
        }
        if isUnused { diagnostics.tell(.tokenNotKept(subscription.patterns)) }
    }

    /// Tells whoever is to be told of a loss.
    func reportMissed(_ count: Int, of name: SharedNotificationCenter.Name?) {
        diagnostics.countMissed(count)
        if let onMissed { onMissed(count, name) } else { diagnostics.report(.missed(count, name)) }
    }

    /// Runs a synchronous closure. `manner` is the caller's own copy, given up before this returns: what the closure holds must not be
    /// released here after `cancel()` has returned elsewhere.
    func run(_ manner: consuming Manner, with item: Item) {
        switch (item, manner) {
        case (.missed(let count, let name), _): reportMissed(count, of: name)
        case (.arrival(let arrival), .closure(_, let handler)): running(arrival) { handler(arrival) }
        case (.arrival, _), (.reopened, _), (.ended, _): break
        }
    }
}

/// The inside of a token: the observation ends with it.
final class ObservationAnchor: Sendable {
    let observation: Observation
    /// What adding took doesn't count.
    private let begin = Lock.now

    init(_ observation: Observation) {
        self.observation = observation
    }

    deinit {
        observation.letGo(after: Lock.now - begin)
        observation.cancel(waiting: true)
    }

    func cancel(waiting: Bool) {
        observation.cancel(waiting: waiting)
    }

    func cancelAndWait() async {
        await observation.cancelAndWait()
    }

    var isCancelled: Bool {
        observation.dispatcher.isForked || observation.dispatcher.lock.withLock { observation.machine.isCancelled }
    }
}
