// What the core takes from its center and from the links, and what it asks of them.

/// A notification in the ring of the relay's center.
package struct RingRecord: Hashable, Sendable {
    package var position: UInt64
    /// Its number: `RelayCore.number(of:)`.
    package var name: Int
    package var postedAt: UInt64
    package var isRetained: Bool
    package var isCleared: Bool
    /// From its section; `nil`: it was posted here.
    package var relayed: Relayed?

    package init(
        position: UInt64, name: Int, postedAt: UInt64, isRetained: Bool = false, isCleared: Bool = false,
        relayed: Relayed? = nil
    ) {
        self.position = position
        self.name = name
        self.postedAt = postedAt
        self.isRetained = isRetained
        self.isCleared = isCleared
        self.relayed = relayed
    }
}

/// The section of a relayed notification: numbers alone. Host and name of the origin are in the checkpoint, which is
/// stored before the first post of an origin.
package struct Relayed: Hashable, Sendable {
    /// The origin.
    package var incarnation: UInt64
    /// The account, with this notification. Of a value: what the account has reached.
    package var sequence: UInt64
    package var count: UInt64
    package var base: UInt64
    package var unsure: UInt64
    /// `nil`: no retained value.
    package var version: Version?
    /// How many of this origin's notifications of this name were lost on the way here, in all.
    package var lost: UInt64
    /// How many of these may not have been lost.
    package var lostUnsure: UInt64
    /// The position of this center at which the latest loss became known; 0: none was.
    package var lostAt: UInt64
    /// `lost` before that position.
    package var lostBefore: UInt64
    /// A value that a comparison brought: not counted as a notification.
    package var isValue: Bool

    package init(
        incarnation: UInt64, sequence: UInt64, count: UInt64, base: UInt64, unsure: UInt64, version: Version?,
        lost: UInt64, lostUnsure: UInt64, lostAt: UInt64, lostBefore: UInt64, isValue: Bool
    ) {
        self.incarnation = incarnation
        self.sequence = sequence
        self.count = count
        self.base = base
        self.unsure = unsure
        self.version = version
        self.lost = lost
        self.lostUnsure = lostUnsure
        self.lostAt = lostAt
        self.lostBefore = lostBefore
        self.isValue = isValue
    }

    /// What an account is after a post.
    init(_ account: Account, of incarnation: UInt64, version: Version?, isValue: Bool) {
        self.init(
            incarnation: incarnation, sequence: account.sequence, count: account.count, base: account.base,
            unsure: account.unsure, version: version, lost: account.lost, lostUnsure: account.lostUnsure,
            lostAt: account.lostAt, lostBefore: account.lostBefore, isValue: isValue)
    }

    /// The account after this post.
    var account: Account {
        var account = Account(sequence: sequence, count: count, base: base, unsure: unsure)
        account.lost = lost
        account.lostUnsure = lostUnsure
        account.lostAt = lostAt
        account.lostBefore = lostBefore
        return account
    }
}

/// A notification to post in the relay's center.
package struct Post: Hashable, Sendable {
    /// The number of its name: `RelayCore.name(_:)`.
    package var name: Int
    package var content: Content
    /// The section to post with it. The post must fail rather than leave it out (invariant O1).
    package var relayed: Relayed
    /// Post it as the retained value of its name, or clear that.
    package var isRetained: Bool
    /// The notification of a clear. Without `isRetained`: another value has replaced the cleared one here. Post it
    /// without a payload, and let the section say that it is a clear.
    package var isCleared: Bool
}

package enum Output: Hashable, Sendable {
    /// Send the frame on this link. A frame that can't be sent may be dropped.
    case send(link: Int, Frame)
    /// Post it, then call `posted(at:)`, `notPosted(until:)` or `discarded()`, and nothing else in between.
    case post(Post)
    /// Requests and participants.
    case dialog(DialogEvent)
    /// Store this in the center, then call `stored()`. No further output comes before.
    case store(Checkpoint)
}

/// What the core reads in its center while it makes frames.
package protocol RingReading {
    /// The bytes of a notification; `nil`: it has left the ring.
    func content(at position: UInt64) -> Content?
    /// The retained value of a name with its position; `nil`: there is none.
    func value(of name: LinkName) -> (position: UInt64, content: Content)?
}

/// What a link has refused or lost, for metrics.
package struct LinkFigures: Hashable, Sendable {
    package var sent: UInt64 = 0
    package var posted: UInt64 = 0
    /// Items that were here already.
    package var duplicates: UInt64 = 0
    /// Rounds that the receiver began again because of a gap.
    package var repairs: UInt64 = 0
    /// Items with names that this link does not accept, or with numbers out of range.
    package var refused: UInt64 = 0
}
