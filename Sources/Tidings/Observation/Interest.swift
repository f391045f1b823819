internal import Dispatch

/// What is observed, as the public functions say it.
struct Interest: Sendable {
    /// `nil`: all.
    var names: [SharedNotificationCenter.Name]?
    var subject: String?
    var start: SharedNotificationCenter.Start
    var excludesOwn: Bool
    var isLossless: Bool

    /// A start elsewhere than now needs a cursor of its own, and a lossless observer must hold back posters for nobody else's sake.
    var needsOwnDispatcher: Bool { start != .now || isLossless }
}

// What it means to the C library.
extension ObserverHandle {
    func seek(to start: SharedNotificationCenter.Start) throws(SharedNotificationError) {
        switch start {
        case .now: break
        case .oldest: try seek(0)
        // The C library takes the largest number for "the end".
        case .sequence(let sequence): try seek(min(sequence, .max - 1))
        }
    }

    /// Adds each of its names, and tells the number that it got at once: of those before one that can't be added, too.
    func add(
        _ interest: Interest, told: (SharedNotificationCenter.Name?, UInt32) -> Void
    ) throws(SharedNotificationError) {
        // The C library has no place for all names by one subject; `matches` looks.
        let subject = interest.names == nil ? nil : interest.subject
        for name in interest.names.map({ $0.map(Optional.some) }) ?? [nil] {
            let number = try add(
                name: name?.rawValue, subject: subject, retained: interest.start == .now || interest.start == .oldest,
                history: interest.start != .now)
            told(name, number)
        }
    }

    var facts: Arrival.Facts {
        Arrival.Facts(
            sequence: sequence, postedAtNanoseconds: postedAtNanoseconds, pid: pid, uid: uid, participant: participant,
            isRetained: isRetained, isOwn: isOwn)
    }
}

extension Interest {
    /// Whether the notification that was found, of one of its names, is meant.
    @inline(__always)
    func matches(_ observer: ObserverHandle) -> Bool {
        if excludesOwn, observer.isOwn { return false }
        if names == nil, let subject { return observer.hasSubject(subject) }
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
