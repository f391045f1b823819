internal import Tidings

/// Counts what an extension does wrong, by kind, and says which counts to report: 1, 2, 4, 8 and so on. So a flood is
/// few reports, and takes little memory.
struct Tally<Kind: Hashable & Sendable>: Sendable {
    /// How many kinds are counted separately. Further ones are counted together.
    private static var most: Int { 16 }

    private var counts: [Kind: Int] = [:]
    private var others = 0

    /// Counts one of that kind. Returns the count if it is to be reported.
    mutating func count(_ kind: Kind) -> Int? {
        let count: Int
        if counts[kind] == nil, counts.count >= Self.most {
            others += 1
            count = others
        } else {
            counts[kind, default: 0] += 1
            count = counts[kind]!
        }
        return count & (count - 1) == 0 ? count : nil
    }
}

/// Counts the diagnostics of a private center: each kind by itself, so that none hides another.
struct DiagnosticTally: Sendable {
    private enum Kind {
        case missed, observerFailed, postFailed, mistake, dispatchFailed, reopened
    }

    private var undecodable = Tally<SharedNotificationCenter.Name>()
    private var others = Tally<Kind>()

    /// Counts the diagnostic. Returns the count if it is to be reported.
    mutating func count(_ diagnostic: SharedNotificationCenter.Diagnostic) -> Int? {
        switch diagnostic {
        case .undecodable(let notification, _): undecodable.count(notification.name)
        case .missed: others.count(.missed)
        case .observerFailed: others.count(.observerFailed)
        case .postFailed: others.count(.postFailed)
        case .mistake: others.count(.mistake)
        case .dispatchFailed: others.count(.dispatchFailed)
        case .reopened: others.count(.reopened)
        }
    }
}
