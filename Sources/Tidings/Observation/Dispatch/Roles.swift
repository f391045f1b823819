/// The leadership of a dispatcher, as a value type: its events return actions that the dispatcher performs outside.
///
/// Exactly one thread at a time is the **leader**: only the leader calls the C observer. It runs plain closures itself,
/// so a notification passes no other thread on its way from the ring to the closure. If a closure does not return, the
/// watch deposes the leader. A new thread becomes the leader and goes on with the next observer of the same
/// notification. The old thread then serves only the observation whose closure it is in.
struct Roles {
    /// One thread's time as the leader.
    struct Tenure: Equatable, Sendable {
        fileprivate var number: UInt32
    }

    enum Look: Equatable {
        /// A closure has run for a whole interval: depose the leader.
        case depose
        /// Closures run and return: check again.
        case again
        /// No closure ran in this interval: stop checking until the dispatcher asks again.
        case rest
    }

    enum Stop: Equatable {
        /// The leader will end by itself soon and runs no closure: interrupt it and wait for its end.
        case join
        /// The leader is in a closure, perhaps the one that stops. It ends when the closure returns.
        case detach
        /// The dispatcher was stopped before, or had no leader.
        case nothing
    }

    private var tenure = Tenure(number: 0)
    private(set) var isLed = false
    private(set) var isStopped = false
    private(set) var isWatched = false
    private(set) var isInHandler = false
    /// The pulse at the watch's last check; `nil`: there was no check yet.
    private var seen: UInt64?

    /// A new thread becomes the leader.
    mutating func lead() -> Tenure {
        tenure.number &+= 1
        isLed = true
        isInHandler = false
        return tenure
    }

    func leads(_ candidate: Tenure) -> Bool { tenure == candidate }

    /// The leader is about to run a closure. True: ask the watch to check this dispatcher.
    mutating func handlerBegins(others: Bool) -> Bool {
        isInHandler = true
        guard others, !isWatched else { return false }
        return startWatch()
    }

    /// Another observation needs the leader now. True: ask the watch to check this dispatcher.
    mutating func othersArrive() -> Bool {
        guard isInHandler, !isWatched, !isStopped else { return false }
        return startWatch()
    }

    /// A closure has returned. False: this thread is not the leader any more.
    mutating func handlerReturns(_ candidate: Tenure) -> Bool {
        guard leads(candidate) else { return false }
        isInHandler = false
        return true
    }

    private mutating func startWatch() -> Bool {
        isWatched = true
        // The first check may come at any moment, and must not depose.
        seen = nil
        return true
    }

    /// A check by the watch. The pulse counts closures that began and closures that returned: odd while the leader is
    /// in one.
    mutating func look(pulse: UInt64) -> Look {
        guard !isStopped else {
            isWatched = false
            return .rest
        }
        if pulse != seen {
            seen = pulse
            return .again
        }
        if isInHandler { return pulse % 2 == 1 ? .depose : .again }
        isWatched = false
        return .rest
    }

    /// There is no observation left to serve.
    mutating func stop(byLeader: Bool) -> Stop {
        guard isLed, !isStopped else {
            isStopped = true
            return .nothing
        }
        isStopped = true
        return byLeader || isInHandler ? .detach : .join
    }
}
