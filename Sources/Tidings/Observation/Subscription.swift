internal import Dispatch

/// What is observed, as the public functions say it.
struct Subscription: Sendable {
    /// `nil`: all.
    var names: [SharedNotificationCenter.Name]?
    /// Also all names that begin with one of these.
    var prefixes: [String] = []
    var subject: String?
    var start: SharedNotificationCenter.Start
    var excludesOwn: Bool
    var isLossless: Bool

    /// A start elsewhere than now needs a cursor of its own, and a lossless observer must hold back posters for nobody else's sake.
    var needsOwnDispatcher: Bool { start != .now || isLossless }
}

// Names that begin with something. Compared by bytes, as names are: not by what Unicode holds for equal.
extension Subscription {
    /// Those of `prefixes` that don't begin with another one.
    var leastPrefixes: [String] {
        var least: [String] = []
        for prefix in prefixes.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            // Whatever one of them begins with stands before it, and what stands between these two begins with it, too.
            if let last = least.last, prefix.utf8.starts(with: last.utf8) { continue }
            least.append(prefix)
        }
        return least
    }

    /// Whether a name begins with one of `prefixes`, and needs no look of its own.
    private func isCovered(_ name: SharedNotificationCenter.Name) -> Bool {
        prefixes.contains { name.rawValue.utf8.starts(with: $0.utf8) }
    }

    /// Those of `names` that are to be looked at, each once, so that with `leastPrefixes` no notification is of two of them.
    var leastNames: [SharedNotificationCenter.Name] {
        var seen = Set<SharedNotificationCenter.Name>()
        return names?.filter { seen.insert($0).inserted && !isCovered($0) } ?? []
    }

    /// For messages: the names, and `com.example.*` for a prefix; `nil`: all.
    var patterns: [SharedNotificationCenter.Name]? {
        guard let names, !prefixes.contains("") else { return nil }
        return names + prefixes.map { .init(beginningWith: $0) }
    }
}

extension SharedNotificationCenter.Name {
    /// What stands for all names that begin so, where there is place for a name only.
    init(beginningWith prefix: String) {
        self.init(prefix + "*")
    }
}

// What it means to the C library.
extension ObserverHandle {
    func seek(to start: SharedNotificationCenter.Start) throws(SharedNotificationError) {
        switch start {
        case .now: break
        case .oldest: try seekToOldest()
        case .after(let sequence, let incarnation): try seek(after: sequence, in: incarnation)
        }
    }

    /// Adds each of its names, and tells the number that it got at once: of those before one that can't be added, too. With the name that a
    /// notification has then; `nil`: it says so itself.
    func add(
        _ subscription: Subscription, told: (SharedNotificationCenter.Name?, UInt32) -> Void
    ) throws(SharedNotificationError) {
        let (retained, history) = (
            subscription.start == .now || subscription.start == .oldest, subscription.start != .now
        )
        guard subscription.names != nil else {
            return told(nil, try add(name: nil, subject: nil, retained: retained, history: history))
        }
        for name in subscription.leastNames {
            told(
                name, try add(name: name.rawValue, subject: subscription.subject, retained: retained, history: history))
        }
        // The C library has no place for all names by one subject, nor for some; `matches` looks.
        for prefix in subscription.leastPrefixes {
            told(
                nil,
                prefix.isEmpty
                    ? try add(name: nil, subject: nil, retained: retained, history: history)
                    : try add(prefix: prefix, retained: retained, history: history))
        }
    }

    var facts: Arrival.Facts {
        Arrival.Facts(
            sequence: sequence, postedAtNanoseconds: postedAtNanoseconds, pid: pid, uid: uid, participant: participant,
            isRetained: isRetained, isOwn: isOwn, isCleared: isCleared)
    }
}

extension Subscription {
    /// Whether the notification that was found, of one of its names, is meant.
    @inline(__always)
    func matches(_ observer: ObserverHandle) -> Bool {
        if excludesOwn, observer.isOwn { return false }
        if let subject, names == nil || !prefixes.isEmpty { return observer.hasSubject(subject) }
        return true
    }
}

/// How an observer is served.
enum Manner: Sendable {
    /// A closure on a queue, or on the dispatcher thread.
    case closure(DispatchQueue?, @Sendable (Arrival) -> Void)
    case mainActor(@MainActor @Sendable (Arrival) -> Void)
    /// In a task; `nil`: on the library's own threads.
    case task((any TaskExecutor)?, @Sendable (Arrival) async -> Void)
    /// On an actor, which is given to it. The observation ends with the actor.
    case isolated(WeakActor, @Sendable (any Actor, Arrival) -> Void)
    /// It asks by itself: a sequence's iterator.
    case pull
}

struct WeakActor: Sendable {
    weak let actor: (any Actor)?
}

/// Told of losses; of which name, or `nil` for all that is observed.
typealias MissedHandler = @Sendable (Int, SharedNotificationCenter.Name?) -> Void
