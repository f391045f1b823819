// Observing through the C library: subscriptions, deliveries and the facts of a delivery.
internal import CTidings
import Glibc

#if MUTANTS
    import TidingsCoding
#endif

/// An observer of the C library, and its latest delivery.
///
/// Only the leader (see ``Roles``) uses ``next()`` and the properties of the delivery. A change of leaders happens
/// under the dispatcher's lock. All other members may be called from any thread.
final class ObserverHandle: @unchecked Sendable {
    // Sendable: `close()` changes `observer` and `center` when no other thread uses this object any more. The leader's
    // `move(to:)` changes them with the dispatcher's lock held, and other threads use them with that lock held. Only
    // the leader uses `delivery` and `left`, and `detachPayload` while the leader is in a closure.
    private(set) var center: CenterHandle?
    private let flags: UInt32
    @exclusivity(unchecked) private var observer: OpaquePointer?
    private let deliveries: UnsafeMutablePointer<tidings_delivery>
    /// The latest one of `deliveries`, and how many of the same call follow.
    @exclusivity(unchecked) private var delivery: UnsafeMutablePointer<tidings_delivery>
    @exclusivity(unchecked) private var left = 0
    /// How many deliveries one call takes at most. A lossless observer takes one: posters need not wait for what it has
    /// taken, so it takes no more than its closure can handle.
    private var most: Int { flags & UInt32(TIDINGS_OBSERVE_LOSSLESS) == 0 ? Int(TIDINGS_NEXT_MANY_MAX) : 1 }
    private let lent: LentMemory
    private let relayed = RelayedLosses()
    /// If it is not 0, the current delivery is told as this many lost notifications first, and then as itself.
    @exclusivity(unchecked) private var lostOnTheWay = 0

    enum Outcome {
        case delivery
        case interrupted
        case failed(SharedNotificationError)
    }

    /// - Parameter inPlace: from how many bytes on payloads are read in place; `nil`: all are copied.
    init(center: CenterHandle, lossless: Bool, inPlace: Int? = nil) throws(SharedNotificationError) {
        flags = lossless ? UInt32(TIDINGS_OBSERVE_LOSSLESS) : 0
        lent = LentMemory(inPlace: max(0, inPlace ?? .max))
        observer = try Self.open(center, flags)
        self.center = center
        deliveries = .allocate(capacity: Int(TIDINGS_NEXT_MANY_MAX))
        deliveries.initialize(repeating: tidings_delivery(), count: Int(TIDINGS_NEXT_MANY_MAX))
        delivery = deliveries
        lent.lend(to: observer)
    }

    private static func open(_ center: CenterHandle, _ flags: UInt32) throws(SharedNotificationError) -> OpaquePointer {
        var opened: OpaquePointer?
        let result = tidings_observer_open(center.center, flags, &opened)
        guard result == 0, let opened else { throw SharedNotificationError(errno: -result, users: .tooManyObservers) }
        return opened
    }

    /// Goes on in another center, without subscriptions. Only the leader calls it. Returns the old center, which the
    /// caller releases without a lock.
    func move(to next: CenterHandle) throws(SharedNotificationError) -> CenterHandle? {
        let opened = try Self.open(next, flags)
        tidings_observer_close(observer)
        observer = opened
        lent.lend(to: opened)
        relayed.forget()
        defer { center = next }
        return center
    }

    /// Waits, after the center has ended, until another file has its path. False: interrupted.
    func awaitSuccessor() throws(SharedNotificationError) -> Bool {
        while true {
            let result = tidings_observer_await_successor(observer, -1)
            switch -result {
            case 0: return true
            case EINTR: return false
            case ETIMEDOUT: continue
            case let code: throw SharedNotificationError(errno: code)
            }
        }
    }

    deinit {
        close()
        deliveries.deallocate()
    }

    /// Closes the C observer, which frees its entry. Call only when no other thread uses this object, now or later.
    func close() {
        tidings_observer_close(observer)
        observer = nil
        center = nil
    }

    func seekToOldest() throws(SharedNotificationError) {
        let result = tidings_observer_seek(observer, 0)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
    }

    func seek(after sequence: UInt64, in incarnation: UInt64) throws(SharedNotificationError) {
        let result = tidings_observer_seek_after(observer, incarnation, sequence)
        guard result == 0 else {
            let error = SharedNotificationError(errno: -result, stale: .otherIncarnation)
            // The message ends with advice in terms of the C library.
            guard [ERANGE, ESTALE].contains(-result), let hint = error.message.lastIndex(of: ";") else { throw error }
            throw SharedNotificationError(error.code, message: error.message[..<hint] + "; start with .now or .oldest")
        }
    }

    /// Subscribes to a name, to all names (`nil`), or to all names with a prefix. Returns the subscription's number.
    func add(
        _ name: String?, isPrefix: Bool = false, subject: String? = nil, retained: Bool, history: Bool
    ) throws(SharedNotificationError) -> UInt32 {
        let flags =
            (isPrefix ? UInt32(TIDINGS_ADD_PREFIX) : 0) | (retained ? UInt32(TIDINGS_ADD_RETAINED) : 0)
            | (history ? UInt32(TIDINGS_ADD_HISTORY) : 0)
        var subscription: UInt32 = 0
        let result = withUTF8(name) { name in
            withUTF8(subject) { subject in
                tidings_observer_add(
                    observer, name?.baseAddress, name?.count ?? 0, subject?.baseAddress, subject?.count ?? 0, flags,
                    &subscription)
            }
        }
        guard result == 0 else { throw SharedNotificationError(errno: -result, invalid: .invalidName) }
        relayed.begin(subscription, at: history ? 0 : end ?? 0)
        return subscription
    }

    func remove(_ subscription: UInt32) {
        _ = tidings_observer_remove(observer, subscription)
        relayed.end(subscription)
    }

    func interrupt() { tidings_observer_interrupt(observer) }

    /// The position that the observer reads next, after the deliveries that it has taken. Only the leader uses it.
    var position: UInt64 { tidings_observer_position(observer) }

    /// Whether an observer at that position is so far behind that posters may be held back for it.
    func mayHoldBack(at position: UInt64) -> Bool {
        var statistics = tidings_statistics()
        guard let center, tidings_statistics_get(center.center, &statistics) == 0 else { return false }
        // A lossless observer publishes its position every sixteenth of a ring.
        return position < statistics.retained_from.position(after: UInt64(statistics.slots / 4))
    }

    /// Whether nothing has been posted at that position or later. From any thread.
    func nothing(since sequence: UInt64) -> Bool {
        guard let center else { return true }
        return tidings_nothing_since(center.center, sequence)
    }

    /// The descriptor for event loops; see `tidings.h`.
    func descriptor() throws(SharedNotificationError) -> Int32 {
        var descriptor: Int32 = -1
        let result = tidings_observer_descriptor(observer, &descriptor)
        guard result == 0 else {
            let error = SharedNotificationError(errno: -result)
            // The C library could not start a thread for the descriptor. For a post, EAGAIN has another meaning.
            throw -result == EAGAIN ? SharedNotificationError(.system(EAGAIN), message: error.message) : error
        }
        return descriptor
    }

    /// Takes the next delivery, if there is one, without waiting. One thread at a time calls it, in place of `next()`.
    func poll() throws(SharedNotificationError) -> Bool {
        while true {
            if takesNext() { return true }
            let result = tidings_next(observer, 0, delivery)
            switch -result {
            case 0:
                countLost()
                return true
            case EAGAIN: return false
            // The same reasons as in `next()`.
            case ENOMEM, ETIMEDOUT, EINTR: continue
            case let code: throw SharedNotificationError(errno: code)
            }
        }
    }

    /// Whether further deliveries of the same call of the C library follow. Only the leader uses it.
    var hasNext: Bool { left > 0 || lostOnTheWay > 0 }

    /// Goes on to the next delivery of the same call, if it is for the same subscription, and each of the two is for
    /// that one alone. Only the leader calls it, with the dispatcher's lock held.
    func nextOfSameSubscription() -> Bool {
        guard left > 0, delivery.pointee.subscription_count == 1, delivery[1].subscription_count == 1,
            delivery[1].subscriptions[0] == delivery.pointee.subscriptions[0]
        else { return false }
        left -= 1
        delivery += 1
        return true
    }

    /// Goes on to the next delivery that is here already, if there is one.
    @inline(__always)
    private func takesNext() -> Bool {
        if lostOnTheWay > 0 {
            lostOnTheWay = 0
            return true
        }
        guard left > 0 else { return false }
        left -= 1
        delivery += 1
        return true
    }

    /// Notes what a relay says about losses before the current delivery, which came alone or as the first of several: a
    /// later one of several has no sections (`tidings_next_many`).
    @inline(__always)
    private func countLost() { if hasSections { readLost() } }

    @inline(never)
    private func readLost() {
        guard let origin, delivery.pointee.kind == TIDINGS_DELIVERY_MESSAGE else { return }
        lostOnTheWay = relayed.losses(origin, name, subscriptions)
    }

    /// Takes the next delivery as `next()` does, but waits for so many nanoseconds at most. Only the leader calls it.
    /// `nil`: there is none.
    func next(within nanoseconds: Int64) -> Outcome? {
        if takesNext() { return .delivery }
        delivery = deliveries
        while true {
            let result = tidings_next(observer, nanoseconds, delivery)
            switch -result {
            case 0:
                countLost()
                return .delivery
            case EAGAIN, ETIMEDOUT: return nil
            case EINTR: return .interrupted
            // The same reason as in `next()`.
            case ENOMEM: continue
            case let code: return .failed(SharedNotificationError(errno: code))
            }
        }
    }

    /// The position that the next post takes, of all names. From any thread, with the dispatcher's lock held.
    var end: UInt64? { center.map { tidings_posted($0.center) } }

    /// Waits for the next delivery, without a deadline. Only the leader calls it. If there is a backlog, one call of
    /// the C library takes several; an interruption then shows after these.
    func next() -> Outcome {
        if takesNext() { return .delivery }
        while true {
            let result = tidings_next_many(observer, -1, deliveries, most)
            switch -result {
            case ..<0:
                delivery = deliveries
                left = Int(result) - 1
                countLost()
                return .delivery
            case EINTR: return .interrupted
            // There is no memory for that payload: it counts as missed, and the next one may be smaller.
            case 0, ENOMEM, EAGAIN, ETIMEDOUT: continue
            case let code: return .failed(SharedNotificationError(errno: code))
            }
        }
    }
}

// The delivery that `next()` found, until the next call of it. Only the leader uses these.
extension ObserverHandle {
    var subscriptions: UnsafeBufferPointer<UInt32> {
        UnsafeBufferPointer(start: delivery.pointee.subscriptions, count: delivery.pointee.subscription_count)
    }

    /// How many notifications were missed; `nil`: the delivery is a notification.
    var missed: Int? {
        #if MUTANT_MISSED_TAKEN_AS_32_BITS  // Found by: fuzz swift
            if isMutant("MISSED_TAKEN_AS_32_BITS") { _ = UInt32(delivery.pointee.missed) }
        #endif
        if delivery.pointee.kind == TIDINGS_DELIVERY_MISSED { return Int(clamping: delivery.pointee.missed) }
        return lostOnTheWay > 0 ? lostOnTheWay : nil
    }

    /// For a loss of a prefix subscription: the prefix as a name; `nil`: all names.
    var missedPattern: SharedNotificationCenter.Name? {
        if lostOnTheWay > 0 { return SharedNotificationCenter.Name(name) }
        return delivery.pointee.name_length == 0 ? nil : .init(beginningWith: name)
    }

    var isOwn: Bool { delivery.pointee.flags & UInt32(TIDINGS_DELIVERY_OWN) != 0 }
    var isRetained: Bool { delivery.pointee.flags & UInt32(TIDINGS_DELIVERY_RETAINED) != 0 }
    var isCleared: Bool { delivery.pointee.flags & UInt32(TIDINGS_DELIVERY_CLEARED) != 0 }
    var isImmediate: Bool { delivery.pointee.flags & UInt32(TIDINGS_DELIVERY_IMMEDIATE) != 0 }
    var sequence: UInt64 { delivery.pointee.sequence }
    var postedAtNanoseconds: UInt64 {
        #if MUTANT_TIME_CONVERTED  // Found by: fuzz swift
            if isMutant("TIME_CONVERTED") { _ = Int64(delivery.pointee.posted_at_ns) }
        #endif
        return delivery.pointee.posted_at_ns
    }
    var pid: Int32 { delivery.pointee.pid }
    var uid: UInt32 { delivery.pointee.uid }
    var participant: UInt32 { delivery.pointee.participant }
    var format: UInt8 { delivery.pointee.format }

    var name: String { Self.text(delivery.pointee.name, delivery.pointee.name_length) }

    var subject: String? {
        delivery.pointee.subject_length == 0
            ? nil : Self.text(delivery.pointee.subject, delivery.pointee.subject_length)
    }

    /// Compares bytes, as the center does.
    func hasSubject(_ text: String) -> Bool {
        let (subject, length) = (delivery.pointee.subject, delivery.pointee.subject_length)
        return withUTF8(text) { text in
            length > 0 && text!.count == length && memcmp(text!.baseAddress!, subject!, length) == 0
        }
    }

    var payload: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: delivery.pointee.payload, count: delivery.pointee.size)
    }

    private var hasSections: Bool { delivery.pointee.flags & UInt32(TIDINGS_DELIVERY_SECTIONS) != 0 }

    /// The sections of the current delivery, as their poster wrote them.
    @inline(__always)
    var sections: SectionFields? { hasSections ? readSections() : nil }

    @inline(never)
    private func readSections() -> SectionFields? {
        let trace = TraceFields(
            traceparent: text(TIDINGS_SECTION_TRACEPARENT), tracestate: text(TIDINGS_SECTION_TRACESTATE),
            baggage: text(TIDINGS_SECTION_BAGGAGE))
        return SectionFields(trace: trace, origin: origin.map { SharedNotificationCenter.Origin($0) })
    }

    /// `nil`: there is none, or it has bytes that no such header has: other than printable ASCII.
    private func text(_ type: some BinaryInteger) -> String? {
        guard let bytes = section(type), bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func section(_ type: some BinaryInteger) -> UnsafeRawBufferPointer? {
        var size = 0
        guard let start = tidings_delivery_section(delivery, UInt16(type), &size), size > 0 else { return nil }
        return UnsafeRawBufferPointer(start: start, count: size)
    }

    private var origin: OriginSection? { section(TIDINGS_SECTION_ORIGIN).flatMap { OriginSection($0) } }

    func comes(from filter: SharedNotificationCenter.OriginFilter) -> Bool {
        let origin = hasSections ? origin : nil
        return switch filter {
        case .any: true
        case .local: origin == nil
        case .remote: origin != nil
        case .center(let incarnation): origin?.incarnation == incarnation
        }
    }

    /// Leaves the memory of the current payload to the caller, which frees it, and copies the payload for the next
    /// leader. A large payload has its own array, so `memory` is `nil` then. False: no memory. Call with the
    /// dispatcher's lock held, while the leader is in a closure.
    func detachPayload(_ memory: inout UnsafeMutableRawPointer?) -> Bool {
        tidings_observer_detach(observer, delivery, left + 1, &memory) == 0
    }

    /// Whether the payload is too large for the C observer's buffer: it is in an array, or may lie in the center.
    var isPayloadLarge: Bool { delivery.pointee.size >= lent.large }

    private var isInPlace: Bool { delivery.pointee.flags & UInt32(TIDINGS_DELIVERY_IN_PLACE) != 0 }

    /// Whether the payload is in an array already.
    var isPayloadLent: Bool { delivery.pointee.size >= LentMemory.least && !isInPlace }

    /// The payload where it lies in the center. `nil`: it is a copy, or was returned before.
    var heldPayload: HeldPayload? { center.flatMap { CenterPayload(observer, delivery, $0) } }

    /// The payload as bytes that may be kept: a copy, or a large payload's own array.
    var ownedPayload: [UInt8] {
        isPayloadLent ? lent.payload(delivery.pointee.size) ?? Array(payload) : Array(payload)
    }

    /// Releases a large payload. Called before the next delivery, so that two large payloads never exist at a time.
    func dropPayload() { lent.drop() }

    /// Replaces invalid UTF-8: a peer may have written the text without the library.
    private static func text(_ characters: UnsafePointer<CChar>, _ length: Int) -> String {
        let bytes = UnsafeRawBufferPointer(start: characters, count: length)
        #if MUTANT_TEXT_TAKEN_FOR_UTF8  // Found by: fuzz swift
            if isMutant("TEXT_TAKEN_FOR_UTF8") { return String(validating: bytes, as: UTF8.self)! }
        #endif
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Passes a string's bytes, or `nil`, which are valid during the call.
func withUTF8<Result>(_ string: String?, _ body: (UnsafeBufferPointer<CChar>?) -> Result) -> Result {
    guard var string else { return body(nil) }
    return string.withUTF8 { $0.withMemoryRebound(to: CChar.self, body) }
}
