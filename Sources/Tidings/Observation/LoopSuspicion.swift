/// Does a closure post what it is called for?
///
/// A sample now and then: nothing was posted after the notification when the closure was called, something was when it returned, and the next
/// one of this process that it is called for is among that. One such sample may be chance, many in a row are not. Whoever runs the closure
/// touches this, one at a time.
struct LoopSuspicion {
    // Seldom, so that it costs nothing; so many that two threads which happen to keep step are not taken for one.
    private static let period: UInt32 = 256
    private static let enough = 64
    // More than a closure posts at a time; beyond that it isn't looked.
    private static let reach: UInt64 = 16

    private var own: UInt32 = 0
    private var inARow = 0
    /// What was posted while the sampled closure ran has lower sequences.
    private var end: UInt64?

    enum Begins {
        case usual
        /// Ask `returns` what has been posted when it has returned.
        case sampled
        /// It does.
        case caught
    }

    /// It is called for a notification of this process.
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
    /// Before its closure is called for a notification of this process. True: call `returnsFromOwn` after it.
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

    func returnsFromOwn(_ sequence: UInt64) {
        suspicion.returns(from: sequence, nothingSince: nothing(since:))
    }

    private func nothing(since sequence: UInt64) -> Bool {
        // A closure may outlast its dispatcher, which closes the observer after it has stopped.
        dispatcher.lock.withLock { dispatcher.roles.isStopped || dispatcher.observer.nothing(since: sequence) }
    }

    /// Runs the closure for what has waited for it.
    func running(_ arrival: Arrival, _ body: () -> Void) {
        let sequence = arrival.ownSequence
        let isSampled = sequence.map(beginsOwn) ?? false
        body()
        if isSampled, let sequence { returnsFromOwn(sequence) }
    }
}
