// The bytes of a notification, which no relay interprets.

/// A slice of a buffer that other contents may share: the notifications of one frame lie in one buffer.
package struct Content: Sendable {
    package var format: UInt8
    package var pid: Int32
    package var uid: UInt32
    package var postedAt: UInt64
    private let buffer: [UInt8]
    /// The payload stands behind the subject.
    private let start: Int
    private let subjectCount: Int
    package let payloadCount: Int

    package init(
        subject: String = "", format: UInt8 = 0, pid: Int32 = 0, uid: UInt32 = 0, postedAt: UInt64 = 0,
        payload: [UInt8] = []
    ) {
        self.format = format
        self.pid = pid
        self.uid = uid
        self.postedAt = postedAt
        buffer = subject.isEmpty ? payload : Array(subject.utf8) + payload
        start = 0
        subjectCount = subject.utf8.count
        payloadCount = payload.count
    }

    /// - Parameter at: where the body of an item begins in `frame`; the decoder has checked it.
    init(frame: [UInt8], at: Int, subjectCount: Int, payloadAt: Int, payloadCount: Int) {
        (format, pid, uid, postedAt) = frame.withUnsafeBytes { bytes in
            (
                bytes[at], Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: at + 1, as: Int32.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at + 5, as: UInt32.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at + 9, as: UInt64.self))
            )
        }
        buffer = frame
        start = payloadAt - subjectCount
        self.subjectCount = subjectCount
        self.payloadCount = payloadCount
    }

    /// Calls `body` with the subject and the payload.
    package func withBytes<Result>(
        _ body: (_ subject: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try buffer.withUnsafeBytes { bytes in
            let payloadAt = start + subjectCount
            return try body(
                UnsafeRawBufferPointer(rebasing: bytes[start..<payloadAt]),
                UnsafeRawBufferPointer(rebasing: bytes[payloadAt..<(payloadAt + payloadCount)]))
        }
    }

    /// A copy.
    package var subject: String { withBytes { subject, _ in String(decoding: subject, as: UTF8.self) } }
    /// A copy.
    package var payload: [UInt8] { withBytes { _, payload in Array(payload) } }

    package func withView<Result>(_ body: (ContentView) -> Result) -> Result {
        withBytes { subject, payload in
            body(
                ContentView(
                    subject: subject, payload: payload, format: format, pid: pid, uid: uid, postedAt: postedAt))
        }
    }
}

extension Content: Hashable {
    package static func == (left: Content, right: Content) -> Bool {
        guard left.format == right.format, left.pid == right.pid, left.uid == right.uid,
            left.postedAt == right.postedAt, left.subjectCount == right.subjectCount
        else { return false }
        return left.withBytes { leftSubject, leftPayload in
            right.withBytes { rightSubject, rightPayload in
                leftSubject.elementsEqual(rightSubject) && leftPayload.elementsEqual(rightPayload)
            }
        }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(postedAt)
        hasher.combine(pid)
        withBytes { hasher.combine(bytes: $1) }
    }
}

/// The bytes of a notification where the driver has them: valid during a call.
package struct ContentView {
    package var subject: UnsafeRawBufferPointer
    package var payload: UnsafeRawBufferPointer
    package var format: UInt8
    package var pid: Int32
    package var uid: UInt32
    package var postedAt: UInt64

    package init(
        subject: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, format: UInt8, pid: Int32, uid: UInt32,
        postedAt: UInt64
    ) {
        self.subject = subject
        self.payload = payload
        self.format = format
        self.pid = pid
        self.uid = uid
        self.postedAt = postedAt
    }

    /// The bytes of an item's body.
    var encodedCount: Int { ItemCoding.fixedBody + 5 + subject.count + payload.count }
}

/// The bodies of the latest notifications, encoded, as items carry them. Bounded: the newest replace the oldest.
struct ContentLog: Sendable {
    struct Place: Sendable {
        var offset: UInt64
        /// 0: the log never had the body.
        var count: Int
        /// 0: it is not known.
        var payloadCount: Int
    }

    static let nowhere = Place(offset: 0, count: 0, payloadCount: 0)

    /// A power of two; empty until the first body.
    private var bytes: [UInt8] = []
    private let capacity: Int
    /// Of all bodies ever. A body does not wrap around.
    private var end: UInt64 = 0

    init(capacity: Int) {
        var power = 64
        while power < capacity { power *= 2 }
        self.capacity = power
    }

    mutating func append(_ view: ContentView) -> Place {
        let most = view.encodedCount
        guard most <= capacity / 2 else { return Place(offset: 0, count: 0, payloadCount: view.payload.count) }
        if bytes.isEmpty { bytes = [UInt8](repeating: 0, count: capacity) }
        var at = Int(truncatingIfNeeded: end) & (capacity - 1)
        if at + most > capacity {
            end += UInt64(capacity - at)
            at = 0
        }
        let count = bytes.withUnsafeMutableBytes { bytes in
            ItemCoding.write(view, to: bytes.baseAddress! + at)
        }
        defer { end += UInt64(count) }
        return Place(offset: end, count: count, payloadCount: view.payload.count)
    }

    /// `nil`: it was replaced.
    func range(of place: Place) -> Range<Int>? {
        guard place.count > 0 else { return nil }
        #if !MUTANT_LOG_IS_ENDLESS  // Found by: link 2
            guard end - place.offset <= UInt64(capacity) else { return nil }
        #endif
        let at = Int(truncatingIfNeeded: place.offset) & (capacity - 1)
        return at..<(at + place.count)
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { bytes.withUnsafeBytes(body) }
}
