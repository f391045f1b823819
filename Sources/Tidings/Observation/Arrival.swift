/// A notification on its way to an observer: the result of the C library, with the payload where it currently lies.
struct Arrival: @unchecked Sendable {
    // Sendable: `borrowed` bytes lie in the C observer's memory, are passed to the call of the closure only, and stay
    // there until it returns (`Dispatcher.look`).
    enum Bytes {
        case borrowed(UnsafeRawBufferPointer)
        case owned([UInt8])
        /// In the center's memory: other processes can change the bytes.
        case held(HeldPayload)
    }

    /// The parts of an envelope. Few closures read the envelope, and its strings cost more than the delivery.
    enum Origin {
        case envelope(SharedNotificationCenter.Envelope)
        /// Only for a closure that runs at once: the leader thread keeps the executable names alive, and the arrival
        /// does not own them.
        case facts(Facts, subject: String?, Unmanaged<CenterNames>)
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
        var sections: SectionFields?

        func envelope(subject: String?, _ centerNames: CenterNames) -> SharedNotificationCenter.Envelope {
            var envelope = SharedNotificationCenter.Envelope(
                sequence: sequence, incarnation: centerNames.incarnation, postedAtNanoseconds: postedAtNanoseconds,
                poster: SharedNotificationCenter.Poster(
                    pid: pid, uid: uid, executable: centerNames.name(ofParticipant: participant, pid: pid)),
                subject: subject, isRetained: isRetained, isOwn: isOwn, isCleared: isCleared)
            if let sections {
                envelope.trace = sections.trace
                envelope.origin = sections.origin.map(centerNames.named)
            }
            return envelope
        }
    }

    let name: SharedNotificationCenter.Name
    let format: UInt8
    let bytes: Bytes
    let origin: Origin
    /// When the leader took it, by `Lock.now`, if the subscription asks for it.
    var takenAt: UInt64 = 0

    var envelope: SharedNotificationCenter.Envelope {
        switch origin {
        case .envelope(let envelope): envelope
        case .facts(let facts, let subject, let centerNames):
            centerNames._withUnsafeGuaranteedRef { facts.envelope(subject: subject, $0) }
        }
    }

    /// True if the retained value was cleared. Only untyped observers receive such an arrival, because it holds no
    /// value of any type.
    @inline(__always)
    var isCleared: Bool {
        switch origin {
        case .envelope(let envelope): envelope.isCleared
        case .facts(let facts, _, _): facts.isCleared
        }
    }

    /// The position of a waiting arrival that was posted through this center object; otherwise `nil`.
    var ownSequence: UInt64? {
        guard case .envelope(let envelope) = origin, envelope.isOwn else { return nil }
        return envelope.sequence
    }

    /// Calls code that must not meet bytes that other processes can change, for example code of the program.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch bytes {
        case .borrowed(let bytes): return try body(bytes)
        case .owned(let bytes): return try bytes.withUnsafeBytes(body)
        case .held(let held):
            let copy = Array(held.bytes)
            let result = try copy.withUnsafeBytes(body)
            held.release()
            return result
        }
    }

    /// Calls a decoder of the library's. If it succeeds, the payload's place in the center is free again: the arrival's
    /// bytes must not be read any more.
    @inline(__always)
    func decoded<Value>(_ decode: (UnsafeRawBufferPointer, _ isShared: Bool) throws -> Value) throws -> Value {
        switch bytes {
        case .borrowed(let bytes): try decode(bytes, false)
        case .owned(let bytes): try bytes.withUnsafeBytes { try decode($0, false) }
        case .held(let held): try decodedInPlace(held, decode)
        }
    }

    @inline(never)
    private func decodedInPlace<Value>(
        _ held: HeldPayload, _ decode: (UnsafeRawBufferPointer, _ isShared: Bool) throws -> Value
    ) throws -> Value {
        let value = try SharedNotificationCenter.RawPayload.reading(held, decode)
        held.release()
        return value
    }

    var notification: SharedNotificationCenter.Notification {
        let format = SharedNotificationCenter.PayloadFormat(rawValue: format)
        let payload: SharedNotificationCenter.RawPayload =
            switch bytes {
            case .borrowed(let bytes): .init(format: format, bytes: Array(bytes))
            case .owned(let bytes): .init(format: format, bytes: bytes)
            case .held(let held): .init(format: format, held: held)
            }
        return SharedNotificationCenter.Notification(name: name, payload: payload, envelope: envelope)
    }
}

/// An element that an observer receives.
enum Item: Sendable {
    case arrival(Arrival)
    /// This many notifications of the name (`nil`: of all observed names) were lost before the next arrival.
    case missed(Int, SharedNotificationCenter.Name?)
    /// The following items come from another center. For iterators only.
    case reopened(UInt64)
    /// No item follows. For iterators only.
    case ended(SharedNotificationError)

    var canBeDropped: Bool {
        switch self {
        case .arrival, .missed: true
        case .reopened, .ended: false
        }
    }

    /// Whether it keeps memory of the center.
    var isInPlace: Bool {
        if case .arrival(let arrival) = self, case .held = arrival.bytes { true } else { false }
    }

    /// How many bytes of the process's memory a waiting item keeps.
    var size: Int {
        if case .arrival(let arrival) = self, case .owned(let bytes) = arrival.bytes { bytes.count } else { 0 }
    }
}
