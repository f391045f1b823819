// Which notifications a link without loss keeps in the ring: those of its names that the peer has not posted. The relay
// has a lossless observer for each such link, and this decides how far it goes. Section 6.

package struct Hold: Sendable {
    /// Milliseconds without progress after which the link lets go.
    package let timeout: UInt64
    /// Positions of the names that were read and that the peer has not acknowledged.
    private var waiting = Queue<UInt64>()
    /// False: the observer is closed, and posts wait for nothing.
    package private(set) var isHolding = true
    /// When the first of `waiting` became the first.
    private var since: UInt64 = 0
    /// What the peer had not acknowledged when the link let go.
    private var letGoAt: UInt64 = 0

    /// What becomes of the observer.
    package enum Step: Hashable, Sendable {
        case none
        /// It goes past this position, and not past the next one of its names.
        case pass(UInt64)
        /// It is closed: the peer has acknowledged nothing for the timeout. The accounts count what is lost then.
        case letGo
        /// It is opened again, at this position: the peer has acknowledged what it had not.
        case hold(from: UInt64)
    }

    package init(timeout: UInt64) {
        self.timeout = timeout
    }

    /// The relay has read a notification of one of the names. Positions grow.
    package mutating func read(_ position: UInt64, now: UInt64) {
        if waiting.isEmpty { since = now }
        waiting.append(position)
    }

    /// - Parameters:
    ///   - acknowledged: everything before this position is acknowledged, or not for this link.
    ///   - oldest: what lies before is not in the ring.
    ///   - end: the position that the relay reads next.
    package mutating func update(acknowledged: UInt64, oldest: UInt64, end: UInt64, now: UInt64) -> Step {
        var passed: UInt64?
        while let first = waiting.first, first < acknowledged {
            passed = first
            since = now
            waiting.removeFirst()
        }
        if isHolding {
            #if !MUTANT_HELD_WITHOUT_END  // Found by: link 477
                if let first = waiting.first, now >= since + timeout {
                    isHolding = false
                    letGoAt = first
                    return .letGo
                }
            #endif
            return passed.map { .pass($0) } ?? .none
        }
        while let first = waiting.first, first < oldest { waiting.removeFirst() }
        guard acknowledged > letGoAt else { return .none }
        isHolding = true
        since = now
        return .hold(from: waiting.first ?? end)
    }

    /// The observer could not be opened. It is tried again when the peer acknowledges more than this.
    package mutating func notOpened(acknowledged: UInt64) {
        isHolding = false
        letGoAt = acknowledged
    }

    /// Nothing waits for the peer.
    package var isEmpty: Bool { waiting.isEmpty }

    /// When `update` has to be called, if nothing is acknowledged before; `nil`: never.
    package var deadline: UInt64? { isHolding && !waiting.isEmpty ? since + timeout : nil }
}
