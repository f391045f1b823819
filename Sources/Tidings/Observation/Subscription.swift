// What an observation observes, how it is added to the C observer, and where its closure runs.

internal import Dispatch

/// The arguments of the public functions that say what to observe.
struct Subscription: Sendable {
    /// `nil`: all names.
    var names: [SharedNotificationCenter.Name]?
    /// Observe also all names with one of these prefixes.
    var prefixes: [String] = []
    var subject: String?
    var start: SharedNotificationCenter.Start
    var excludesOwn: Bool
    var origin = SharedNotificationCenter.OriginFilter.any
    var isLossless: Bool
    /// From how many bytes on payloads are read in place; `nil`: all are copied.
    var inPlace: Int?
    /// Whether each kept arrival has the time at which the leader took it.
    var isTimed = false

    /// A start other than `.now` needs a cursor of its own. A lossless observer must hold back posts of its own
    /// subscription only. A payload in place must belong to one observation, which releases it when it needs it no
    /// more.
    var needsOwnDispatcher: Bool { start != .now || isLossless || inPlace != nil }
}

// Prefixes are compared byte by byte, as names are, and not by Unicode equivalence.
extension Subscription {
    /// The members of `prefixes` that do not begin with another member.
    var leastPrefixes: [String] {
        var least: [String] = []
        for prefix in prefixes.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            // In sorted order, a prefix comes before all texts that begin with it, and only such texts come between
            // them. So the last kept prefix decides.
            if let last = least.last, prefix.utf8.starts(with: last.utf8) { continue }
            least.append(prefix)
        }
        return least
    }

    /// Whether a name begins with one of `prefixes`, and so needs no subscription of its own.
    private func isCovered(_ name: SharedNotificationCenter.Name) -> Bool {
        prefixes.contains { name.rawValue.utf8.starts(with: $0.utf8) }
    }

    /// The members of `names` that need a subscription, without repetition. With `leastPrefixes`, no notification then
    /// matches two subscriptions.
    var leastNames: [SharedNotificationCenter.Name] {
        var seen = Set<SharedNotificationCenter.Name>()
        return names?.filter { seen.insert($0).inserted && !isCovered($0) } ?? []
    }

    /// The names for diagnostics, and `com.example.*` for a prefix; `nil`: all names.
    var patterns: [SharedNotificationCenter.Name]? {
        guard let names, !prefixes.contains("") else { return nil }
        return names + prefixes.map { .init(beginningWith: $0) }
    }
}

// The subscription's calls to the C library.
extension ObserverHandle {
    func seek(to start: SharedNotificationCenter.Start) throws(SharedNotificationError) {
        switch start {
        case .now: break
        case .oldest: try seekToOldest()
        case .after(let sequence, let incarnation): try seek(after: sequence, in: incarnation)
        }
    }

    /// Adds each name and prefix. Reports each new subscription number at once, so that the caller has the numbers even
    /// if a later one fails. The reported name is that of its notifications; `nil`: each notification carries its name.
    func add(
        _ subscription: Subscription, told: (SharedNotificationCenter.Name?, UInt32) -> Void
    ) throws(SharedNotificationError) {
        let (start, subject) = (subscription.start, subscription.subject)
        let (retained, history) = (start == .now || start == .oldest, start != .now)
        // The C library can't restrict all names, or a prefix, to one subject. `matches` checks the subject.
        guard subscription.names != nil else { return told(nil, try add(nil, retained: retained, history: history)) }
        for name in subscription.leastNames {
            told(name, try add(name.rawValue, subject: subject, retained: retained, history: history))
        }
        for prefix in subscription.leastPrefixes {
            let all = prefix.isEmpty
            told(nil, try add(all ? nil : prefix, isPrefix: !all, retained: retained, history: history))
        }
    }

    /// The current delivery, for an observation of that name.
    @inline(__always)
    func arrival(
        for name: SharedNotificationCenter.Name?, _ bytes: Arrival.Bytes, _ origin: Arrival.Origin
    ) -> Arrival {
        Arrival(name: name ?? SharedNotificationCenter.Name(self.name), format: format, bytes: bytes, origin: origin)
    }

    /// The current delivery, to be kept.
    func arrival(
        for name: SharedNotificationCenter.Name?, _ bytes: Arrival.Bytes, _ centerNames: CenterNames
    ) -> Arrival {
        arrival(for: name, bytes, .envelope(facts.envelope(subject: subject, centerNames)))
    }

    /// The current payload as bytes that may be kept: where they lie in the center, if the caller `holds` them, or a
    /// copy.
    func keptPayload(holds: Bool) -> Arrival.Bytes {
        if holds, let held = heldPayload { return .held(held) }
        return .owned(ownedPayload)
    }

    var facts: Arrival.Facts {
        Arrival.Facts(
            sequence: sequence, postedAtNanoseconds: postedAtNanoseconds, pid: pid, uid: uid, participant: participant,
            isRetained: isRetained, isOwn: isOwn, isCleared: isCleared, sections: sections)
    }
}

extension Subscription {
    /// Whether every notification that the C library finds for this subscription passes the filters.
    var takesAll: Bool { !excludesOwn && subject == nil && origin == .any }

    /// Whether a notification that the C library found for this subscription passes the filters.
    @inline(__always)
    func matches(_ observer: ObserverHandle) -> Bool {
        if excludesOwn, observer.isOwn { return false }
        if origin != .any, !observer.comes(from: origin) { return false }
        if let subject, names == nil || !prefixes.isEmpty { return observer.hasSubject(subject) }
        return true
    }
}

/// The context in which an observer receives its items.
enum Manner: Sendable {
    /// A closure on a queue; `nil`: on the dispatcher thread.
    case closure(DispatchQueue?, @Sendable (Arrival) -> Void)
    case mainActor(@MainActor @Sendable (Arrival) -> Void)
    /// In a task; `nil`: on the library's own threads.
    case task((any TaskExecutor)?, @Sendable (Arrival) async -> Void)
    /// On the actor that the closure is isolated to.
    case isolated(any Actor, @Sendable (Arrival) -> Void)
    /// A sequence's iterator takes the items.
    case pull

    /// Calls a closure that is not asynchronous. Call this in the closure's context.
    func call(_ arrival: Arrival) {
        switch self {
        case .closure(_, let handler), .isolated(_, let handler): handler(arrival)
        case .mainActor(let handler): MainActor.assumeIsolated { handler(arrival) }
        case .task, .pull: break
        }
    }
}

/// Receives the number of losses and their name; `nil`: the number is for all observed names.
typealias MissedHandler = @Sendable (Int, SharedNotificationCenter.Name?) -> Void
