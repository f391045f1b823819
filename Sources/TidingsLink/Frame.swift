// What two relays tell each other. Docs/Design/Relay.md says when each frame is sent.

/// A center whose notifications are relayed. The incarnation identifies it; the two texts are for people. Items leave
/// them empty once the receiver has them.
package struct Origin: Hashable, Sendable {
    package var incarnation: UInt64
    /// The machine, as its relay states it: at most 255 bytes.
    package var host: String
    /// The name of the center: at most 255 bytes.
    package var center: String

    package init(incarnation: UInt64, host: String = "", center: String = "") {
        self.incarnation = incarnation
        self.host = host
        self.center = center
    }
}

/// The age of a retained value, or of a clear. Of two versions of one name, the greater one is the newer. Total: no two
/// retained posts of a name have equal versions.
package struct Version: Hashable, Comparable, Sendable {
    /// Nanoseconds since 1970 by the poster's clock, but at least 1 more than the version before it that the origin's
    /// relay knew (invariant V1).
    package var date: UInt64
    /// The origin's.
    package var incarnation: UInt64
    /// The position in the origin's order.
    package var sequence: UInt64
    /// The value was cleared at this date.
    package var isCleared: Bool

    package init(date: UInt64, incarnation: UInt64, sequence: UInt64, isCleared: Bool = false) {
        self.date = date
        self.incarnation = incarnation
        self.sequence = sequence
        self.isCleared = isCleared
    }

    package static func < (left: Version, right: Version) -> Bool {
        (left.date, left.incarnation, left.sequence) < (right.date, right.incarnation, right.sequence)
    }
}

/// Which notification: its origin, its name, and its numbers in the origin's account of that name.
package struct Mark: Hashable, Sendable {
    package var origin: Origin
    package var name: LinkName
    /// The position in the origin's order.
    package var sequence: UInt64
    /// How many notifications of the name the origin has counted, with this one.
    package var count: UInt64
    /// The count with which the sender's knowledge began. The sender does not owe earlier ones.
    package var base: UInt64 = 0
    /// A loss of counts below this one may be an upper bound; 0: each loss is exact.
    package var unsure: UInt64 = 0
}

/// A retained value on its way. Frames of items have their notifications as bytes (`ItemFrame`).
package struct Item: Hashable, Sendable {
    /// The position in the sender's ring.
    package var place: UInt64
    package var mark: Mark
    /// `nil`: not a retained value, or one that another value has replaced already.
    package var version: Version?
    package var isCleared: Bool
    package var content: Content
}

/// What an account has reached, and the version of the retained value of its name, if it came from this origin.
package struct AccountState: Hashable, Sendable {
    package var mark: Mark
    package var version: Version?
}

package struct Frame: Hashable, Sendable {
    /// The number of the sender's session. A session begins with a connection.
    package var session: UInt64
    /// The receiver's session, as the sender knows it; 0 in a greeting: not known.
    package var to: UInt64
    package var body: Body

    package enum Body: Hashable, Sendable {
        case greeting(Greeting)
        case beat(Beat)
        case items(ItemFrame)
        /// Asks for the accounts from this one on. The sender numbers its accounts, and a session keeps the numbers.
        case ask(number: UInt32, isFirst: Bool, from: UInt64)
        case accounts(Accounts)
        /// Asks for retained values.
        case pull(number: UInt32, names: [LinkName])
        case value(number: UInt32, Item)
        /// All values of that question were sent that the sender has.
        case pulled(number: UInt32)
        /// Requests and participants. A relay that does not know dialogs drops it.
        case dialog(DialogFrame)
    }
}

/// The first frame in each direction, repeated until the peer has heard it.
package struct Greeting: Hashable, Sendable {
    package var version: UInt16 = 1
    package var link: String
    package var center: Origin
    /// Bytes of the largest payload that the sender of the greeting accepts.
    package var payload: UInt64
    /// The names that the sender of the greeting sends, and those that it accepts.
    package var sends: NameList
    package var accepts: NameList
}

/// Where both directions stand. Acknowledges, requests a repair, and shows that the sender lives.
package struct Beat: Hashable, Sendable {
    // As receiver.
    /// The round of the receiver. A new round: continue after `received`, whatever was sent since.
    package var round: UInt32
    /// The peer continues here in a new round; `Beat.end`: at its end.
    package var received: UInt64
    /// Everything up to this place of the peer has been posted, or discarded.
    package var handled: UInt64
    // As sender.
    /// The peer's round that the next three refer to.
    package var peerRound: UInt32
    /// The place of the last item that was sent.
    package var tail: UInt64
    /// No item for this link lies between `tail` and this place, or at it.
    package var through: UInt64
    /// Changes when accounts or retained values changed without an item.
    package var generation: UInt64

    package static let end = UInt64.max
}

/// A part of the sender's accounts.
package struct Accounts: Hashable, Sendable {
    /// Of the question.
    package var number: UInt32
    package var states: [AccountState]
    /// The account to continue with; 0: these were the last.
    package var next: UInt64
    /// Each notification that `states` count is lost for this link, or has a place before this one. No item for this
    /// link lies between the last one and this place, if the sender has come that far.
    package var place: UInt64
    package var generation: UInt64
}
