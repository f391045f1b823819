/// The parts of a center object that its observations share. Observations keep them, and go on after the object itself
/// is released.
final class CenterCore: Sendable {
    let link: CenterLink
    let diagnostics: Diagnostics
    let types: MessageTypes
    private var name: String { link.name }
    private let shared = Locked<Dispatcher?>(nil)
    private let generation: UInt

    /// - Parameter configuration: what the center was opened with; `nil`: the center has no name that could be opened
    ///   again.
    init(name: String, handle: CenterHandle, configuration: SharedNotificationCenter.Configuration? = nil) {
        generation = Forking.generation
        diagnostics = Diagnostics()
        link = CenterLink(name: name, handle: handle, configuration: configuration, diagnostics: diagnostics)
        types = MessageTypes(diagnostics)
    }

    /// The center to read. If it has ended and this object follows its name, this is its successor.
    var handle: CenterHandle { link.latestHandle }

    /// Starts an observation.
    ///
    /// - Parameters:
    ///   - held: receives the notifications that come while the center is suspended; `nil`: suspension makes no
    ///     difference.
    ///   - isSuspended: whether the center is suspended now.
    ///   - notesArrivals: whether a poster may wait until the observation has reached a position.
    ///   - tellsMoves: whether its closure is called, as for a loss of 0 notifications, when it goes on in another
    ///     center.
    ///   - object: the object that registers. Its registrations with one dispatcher share one order.
    func observe(
        _ subscription: Subscription, onMissed: MissedHandler?, bounds: DeliveryBuffer.Bounds? = nil,
        held: HeldItems? = nil, isSuspended: Bool = false, notesArrivals: Bool = false, tellsMoves: Bool = false,
        of object: ObjectIdentifier? = nil, as manner: Manner
    ) throws(SharedNotificationError) -> ObservationAnchor {
        try refuse(subscription)
        let bounds = bounds ?? (subscription.isLossless ? .losslessClosure : .closure)
        func observation(_ dispatcher: Dispatcher) -> Observation {
            let observation = Observation(
                subscription: subscription, manner: manner, bounds: bounds, dispatcher: dispatcher,
                diagnostics: diagnostics, onMissed: onMissed, held: held, notesArrivals: notesArrivals,
                tellsMoves: tellsMoves, object: object)
            // The observation is not shared yet, so its state may be changed without a lock.
            if isSuspended { observation.machine.suspend() }
            return observation
        }
        if subscription.needsOwnDispatcher {
            return try link.inLatest { (handle) throws(SharedNotificationError) in
                let dispatcher = try Dispatcher(core: self, center: handle, for: subscription)
                let own = observation(dispatcher)
                _ = try dispatcher.add(own)
                return ObservationAnchor(own)
            }
        }
        return try shared.withLock { (shared) throws(SharedNotificationError) in
            if let dispatcher = shared {
                let joining = observation(dispatcher)
                while true {
                    let moves = dispatcher.moves
                    do throws(SharedNotificationError) {
                        if try dispatcher.add(joining) { return ObservationAnchor(joining) }
                        break
                    } catch {
                        // The dispatcher's thread is about to detect that the center has ended, and to move its
                        // observations to the successor. An object's registrations stay with one dispatcher, because
                        // that keeps their order.
                        guard link.follows, error.code == .removed else { throw error }
                        guard object != nil, !link.latestHandle.hasEnded, dispatcher.waitUntilMoved(beyond: moves)
                        else {
                            break
                        }
                    }
                }
            }
            // There is no shared dispatcher, or the last one has just ended.
            return try link.inLatest { (handle) throws(SharedNotificationError) in
                let dispatcher = try Dispatcher(core: self, center: handle, for: nil)
                let first = observation(dispatcher)
                _ = try dispatcher.add(first)
                shared = dispatcher
                return ObservationAnchor(first)
            }
        }
    }

    /// Throws if this can't be observed, or not from this process.
    func refuse(_ subscription: Subscription) throws(SharedNotificationError) {
        try refuseIfForked()
        if subscription.names?.isEmpty == true, subscription.prefixes.isEmpty {
            throw SharedNotificationError(
                .invalidArgument, message: "can't observe an empty list of names in center \"\(name)\"")
        }
        try refuseStar(in: subscription.prefixes)
    }

    /// Refuses a `*` in a prefix: it is literal here, but a reader of the code would take it for a pattern.
    private func refuseStar(in prefixes: [String]) throws(SharedNotificationError) {
        guard let prefix = prefixes.first(where: { $0.utf8.contains(UInt8(ascii: "*")) }) else { return }
        throw SharedNotificationError(
            .invalidName,
            message: """
                can't observe the prefix "\(prefix)" in center "\(name)": a prefix has no *; pass "com.example." to \
                observe all names with that prefix
                """)
    }

    /// Throws in a forked child: it has no dispatcher thread, and its locks may have been held at the fork.
    ///
    /// - Parameter what: continues "can't", and a center follows.
    func refuseIfForked(_ what: String = "observe") throws(SharedNotificationError) {
        guard !isForked else {
            throw SharedNotificationError(
                .forked,
                message: """
                    can't \(what) center "\(name)" in a forked child through its parent's object; open it anew
                    """)
        }
    }

    /// Whether this object was made before the fork that created this process.
    var isForked: Bool { generation != Forking.generation }

    /// Call when a dispatcher has ended: the next observation starts another.
    func forget(_ dispatcher: Dispatcher) { shared.withLock { if $0 === dispatcher { $0 = nil } } }
}
