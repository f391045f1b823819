/// A notification on its way to an observer: what the C library said, with the payload where it lies now.
struct Arrival: @unchecked Sendable {
    // Sendable: `borrowed` bytes lie in the scratch memory of the thread that runs a closure with it, and are only handed to that call.
    enum Bytes {
        case borrowed(UnsafeRawBufferPointer)
        case owned([UInt8])
    }

    /// What an envelope is made of. Few closures look at one, and its strings cost more than delivery does.
    enum Origin {
        case envelope(SharedNotificationCenter.Envelope)
        /// For a closure that runs at once only: the names are alive as long as the thread that leads, and do not belong to the arrival.
        case facts(Facts, subject: String?, Unmanaged<ExecutableNames>)
    }

    struct Facts {
        var sequence: UInt64
        var postedAtNanoseconds: UInt64
        var pid: Int32
        var uid: UInt32
        var participant: UInt32
        var isRetained: Bool
        var isOwn: Bool
        var isCleared: Bool

        func envelope(subject: String?, _ executables: ExecutableNames) -> SharedNotificationCenter.Envelope {
            SharedNotificationCenter.Envelope(
                sequence: sequence, incarnation: executables.incarnation, postedAtNanoseconds: postedAtNanoseconds,
                poster: SharedNotificationCenter.Poster(
                    pid: pid, uid: uid, executable: executables.name(ofParticipant: participant, pid: pid)),
                subject: subject, isRetained: isRetained, isOwn: isOwn, isCleared: isCleared)
        }
    }

    let name: SharedNotificationCenter.Name
    let format: UInt8
    let bytes: Bytes
    let origin: Origin

    var envelope: SharedNotificationCenter.Envelope {
        switch origin {
        case .envelope(let envelope): envelope
        case .facts(let facts, let subject, let executables):
            executables._withUnsafeGuaranteedRef { facts.envelope(subject: subject, $0) }
        }
    }

    /// That the kept value was cleared is told to those who asked for no type: it is no value of any.
    @inline(__always)
    var isCleared: Bool {
        switch origin {
        case .envelope(let envelope): envelope.isCleared
        case .facts(let facts, _, _): facts.isCleared
        }
    }

    /// Its place in the order, if it was posted through this center object; of what waits.
    var ownSequence: UInt64? {
        guard case .envelope(let envelope) = origin, envelope.isOwn else { return nil }
        return envelope.sequence
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch bytes {
        case .borrowed(let bytes): try body(bytes)
        case .owned(let bytes): try bytes.withUnsafeBytes(body)
        }
    }

    var notification: SharedNotificationCenter.RawNotification {
        let copy =
            switch bytes {
            case .borrowed(let bytes): Array(bytes)
            case .owned(let bytes): bytes
            }
        return SharedNotificationCenter.RawNotification(
            name: name,
            payload: SharedNotificationCenter.RawPayload(
                format: SharedNotificationCenter.PayloadFormat(rawValue: format), bytes: copy),
            envelope: envelope)
    }
}

/// What an observer gets.
enum Item: Sendable {
    case arrival(Arrival)
    /// So many of that name (`nil`: of all observed) were lost before the next arrival.
    case missed(Int, SharedNotificationCenter.Name?)
    /// What comes next is another center's. For iterators only.
    case reopened(UInt64)
    /// Nothing comes any more. For iterators only.
    case ended(SharedNotificationError)

    var canBeDropped: Bool {
        switch self {
        case .arrival, .missed: true
        case .reopened, .ended: false
        }
    }

    /// Bytes it keeps while it waits.
    var size: Int {
        if case .arrival(let arrival) = self, case .owned(let bytes) = arrival.bytes { bytes.count } else { 0 }
    }
}
