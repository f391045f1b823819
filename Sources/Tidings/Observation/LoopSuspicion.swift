/// Detects a closure that posts the notifications for which it is called.
///
/// It takes samples of the closure's calls for own notifications, which were posted through this center object. A
/// sample is positive under three conditions. When the closure was called, no notification had been posted after the
/// current one. When it returned, there were later notifications. The next own notification that the closure is called
/// for is among them. One positive sample may be chance; many in a row are not. Only the thread or task that runs the
/// closure accesses this, one at a time.
struct LoopSuspicion {
    // The period is long so that sampling costs nothing. The number of samples is large so that two threads that happen
    // to run in step are not reported.
    private static let period: UInt32 = 256
    private static let enough = 64
    // More notifications than a closure posts per call. Positions beyond this reach are not checked.
    private static let reach: UInt64 = 16

    private var own: UInt32 = 0
    private var inARow = 0
    /// The notifications posted while the sampled closure ran have lower sequences than this.
    private var end: UInt64?

    enum Begins {
        case usual
        /// Call `returns` after the closure has returned.
        case sampled
        /// The closure posts the notifications for which it is called.
        case caught
    }

    /// Call before the closure runs for an own notification.
    @inline(__always)
    mutating func begins(_ sequence: UInt64, nothingSince: (UInt64) -> Bool) -> Begins {
        own &+= 1
        return own % Self.period > 1 ? .usual : samples(sequence, nothingSince: nothingSince)
    }

    @inline(never)
    private mutating func samples(_ sequence: UInt64, nothingSince: (UInt64) -> Bool) -> Begins {
        guard own % Self.period == 1 else {
            end = nil
            return nothingSince(sequence.position(after: 1)) ? .sampled : .usual
        }
        inARow = end.map { sequence < $0 } == true ? inARow + 1 : 0
        guard inARow == Self.enough else { return .usual }
        inARow = 0
        return .caught
    }

    mutating func returns(from sequence: UInt64, nothingSince: (UInt64) -> Bool) {
        end = (1...Self.reach).lazy.map { sequence.position(after: 1 + $0) }.first(where: nothingSince)
    }
}

extension Observation {
    /// Call before the closure runs for an own notification. True: call `returnsFromOwn` after it.
    @inline(__always)
    func beginsOwn(_ sequence: UInt64) -> Bool {
        switch suspicion.begins(sequence, nothingSince: nothing(since:)) {
        case .usual: return false
        case .sampled: return true
        case .caught:
            diagnostics.tell(.postsToItself(subscription.patterns))
            return false
        }
    }

    func returnsFromOwn(_ sequence: UInt64) { suspicion.returns(from: sequence, nothingSince: nothing(since:)) }

    private func nothing(since sequence: UInt64) -> Bool {
        // A closure may outlive its dispatcher, which closes the C observer after it has stopped.
        dispatcher.lock.withLock { dispatcher.roles.isStopped || dispatcher.observer.nothing(since: sequence) }
    }

    /// Runs the closure for an arrival that has waited.
    func running(_ arrival: Arrival, _ body: () -> Void) {
        let sequence = arrival.ownSequence
        let isSampled = sequence.map(beginsOwn) ?? false
        body()
        if isSampled, let sequence { returnsFromOwn(sequence) }
    }
}
