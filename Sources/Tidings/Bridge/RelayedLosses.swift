/// Losses on the way between centers. A relay tells of them with each notification, as totals. This object notes what
/// an observer has reported of them.
final class RelayedLosses: @unchecked Sendable {
    // Sendable: the properties are accessed only with the lock held.
    private let lock = Lock()
    /// From which position on each subscription receives.
    private var beginnings: [UInt32: UInt64] = [:]
    private var told: [Account: UInt64] = [:]

    private struct Account: Hashable {
        var name: String
        var origin: UInt64
    }

    /// A peer can invent accounts. If there are more, this forgets what it has told, and goes on as at the first
    /// notification of each account.
    private static let mostAccounts = 16_384

    func begin(_ subscription: UInt32, at position: UInt64) {
        lock.withLock { beginnings[subscription] = position }
    }

    func end(_ subscription: UInt32) {
        lock.withLock { _ = beginnings.removeValue(forKey: subscription) }
    }

    /// The observer goes on in another center.
    func forget() {
        lock.withLock {
            beginnings = [:]
            told = [:]
        }
    }

    /// How many notifications of that name were lost on their way before this one, and have not been reported. At the
    /// first notification of an account: those of the last loss, if it became known after the observer had begun.
    func losses(_ section: OriginSection, _ name: String, _ subscriptions: UnsafeBufferPointer<UInt32>) -> Int {
        lock.withLock {
            let account = Account(name: name, origin: section.incarnation)
            let before: UInt64
            if let told = told[account] {
                before = told
            } else {
                let beginning = subscriptions.compactMap { beginnings[$0] }.min() ?? .max
                before = section.lost - (section.lostAt >= beginning ? min(UInt64(section.lastLoss), section.lost) : 0)
                if told.count >= Self.mostAccounts { told = [:] }
            }
            // The total grows. A smaller one comes from a value that was retained before.
            told[account] = max(before, section.lost)
            return section.lost > before ? Int(clamping: section.lost - before) : 0
        }
    }
}
