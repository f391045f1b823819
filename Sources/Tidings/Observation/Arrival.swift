/// A notification on its way to an observer: what the C library said, with the payload where it lies now.
struct Arrival: @unchecked Sendable {
    // Sendable: `borrowed` bytes lie in the scratch memory of the thread that runs a closure with it, and are only handed to that call.
    enum Bytes {
        case borrowed(UnsafeRawBufferPointer)
        case owned([UInt8])
    }

    let name: SharedNotificationCenter.Name
    let format: UInt8
    let bytes: Bytes
    let envelope: SharedNotificationCenter.Envelope

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

    /// Bytes it keeps while it waits.
    var size: Int {
        if case .arrival(let arrival) = self, case .owned(let bytes) = arrival.bytes { bytes.count } else { 0 }
    }
}
