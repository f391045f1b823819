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

/// How an observer is served.
enum Manner: Sendable {
    /// A closure on a queue, or on the dispatcher thread.
    case closure(DispatchQueue?, @Sendable (Arrival) -> Void)
    case mainActor(@MainActor @Sendable (Arrival) -> Void)
    case task(@Sendable (Arrival) async -> Void)
    /// It asks by itself: a sequence's iterator.
    case pull
}

/// Told of losses; of which name, or `nil` for all that is observed.
typealias MissedHandler = @Sendable (Int, SharedNotificationCenter.Name?) -> Void
