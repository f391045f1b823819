/// Who leads a dispatcher, as a value: events go in, what to do comes out, and is done outside.
///
/// Exactly one thread at a time is the **leader**: it alone calls the C observer. It runs plain closures itself, so that nothing is handed over
/// on the way from the ring to the closure. If one does not return, the watch deposes it: a new thread becomes the leader and
/// goes on with the next observer of the same notification, while the old one belongs to the observer whose closure it is in.
struct Roles {
    /// One thread's time as the leader.
    struct Tenure: Equatable, Sendable {
        fileprivate var number: UInt32
    }

    enum Look: Equatable {
        /// A closure has run for a whole interval: depose the leader.
        case depose
        /// Closures run and return: look again.
        case again
        /// No closure ran in this interval: look no more, until asked again.
        case rest
    }

    enum Stop: Equatable {
        /// The leader will end by itself soon and runs no closure: interrupt it and wait for its end.
        case join
        /// The leader is in a closure, perhaps the one that stops: interrupt it, it ends when the closure returns.
        case detach
        /// Stopped already, or no leader was there.
        case nothing
    }

    private var tenure = Tenure(number: 0)
    private(set) var isLed = false
    private(set) var isStopped = false
    private(set) var isWatched = false
    private(set) var isInHandler = false
    /// What the pulse was at the watch's last look; `nil`: there was none yet.
    private var seen: UInt64?

    /// A new thread becomes the leader.
    mutating func lead() -> Tenure {
        tenure.number &+= 1
        isLed = true
        isInHandler = false
        return tenure
    }

    func leads(_ candidate: Tenure) -> Bool {
        tenure == candidate
    }

    /// The leader is about to run a closure. True: ask the watch to look.
    mutating func handlerBegins(others: Bool) -> Bool {
        isInHandler = true
        guard others, !isWatched else { return false }
        return startWatch()
    }

    /// Somebody else wants to be served now. True: ask the watch to look.
    mutating func othersArrive() -> Bool {
        guard isInHandler, !isWatched, !isStopped else { return false }
        return startWatch()
    }

    /// A closure has returned. False: this thread does not lead any more.
    mutating func handlerReturns(_ candidate: Tenure) -> Bool {
        guard leads(candidate) else { return false }
        isInHandler = false
        return true
    }

    private mutating func startWatch() -> Bool {
        isWatched = true
        // The first look may come at any moment, and must not depose.
        seen = nil
        return true
    }

    /// The watch looks. The pulse is a count of closures begun and returned, odd while the leader is in one.
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

    /// Nobody is left to serve.
    mutating func stop(byLeader: Bool) -> Stop {
        guard isLed, !isStopped else {
            isStopped = true
            return .nothing
        }
        isStopped = true
        return byLeader || isInHandler ? .detach : .join
    }
}
