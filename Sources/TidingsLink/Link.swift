// One link of a relay: its session, what it has sent, and where it stands in its peer's ring.

/// A link as its relay was configured.
package struct LinkConfiguration: Hashable, Sendable {
    /// The same on both sides.
    package var name: String
    package var sends: NameList
    package var accepts: NameList

    package init(name: String, sends: NameList, accepts: NameList) {
        self.name = name
        self.sends = sends
        self.accepts = accepts
    }
}

/// Why a link that has a transport carries nothing.
package enum LinkTrouble: Hashable, Sendable {
    /// The peer speaks another version of the protocol.
    case version(UInt16)
    /// The other end is this center.
    case itself
    /// Another center uses the link's name, and the link has a peer already.
    case taken(by: Origin)
    /// Neither side sends a name that the other one accepts.
    case noCommonName
}

struct Link: Sendable {
    let configuration: LinkConfiguration
    var trouble: LinkTrouble?
    var figures = LinkFigures()

    // The session.
    var isConnected = false
    var isWritable = true
    var session: UInt64 = 0
    /// 0: no greeting was received.
    var peerSession: UInt64 = 0
    var peer: Greeting?
    /// The peer has heard this session.
    var isEstablished = false
    /// Links with equal name lists are a group (invariant O2).
    var group = 0
    var heardAt: UInt64 = 0
    var greetAt: UInt64 = 0
    var beatAt: UInt64 = 0

    // As sender. Each place is that of the next item: places before it are done.
    /// 0: the peer has not asked for items.
    var peerRound: UInt32 = 0
    var tail: UInt64 = 0
    /// Records before this position were sent, or are not for this link.
    var scanned: UInt64 = 0
    /// The places of items that the peer has not handled.
    var unhandled: [UInt64] = []
    /// Adds to the core's generation: losses of this link alone.
    var generation: UInt64 = 0
    var question: (number: UInt32, isFirst: Bool, after: AccountKey?)?
    var pulled: (number: UInt32, names: [LinkName])?
    /// The origins whose host and center an item of this round has told.
    var described: Set<Int> = []

    // As receiver.
    var round: UInt32 = 0
    var received: UInt64 = 0
    var handled: UInt64 = 0
    var inbox: [Item] = []
    var inboxBytes = 0
    /// Items were dropped, because the inbox was full.
    var isOverflown = false
    /// When the gap that is open now was first seen; `nil`: no gap.
    var gapSince: UInt64?
    var comparison: Comparison?
    var needsComparison = false
    /// What this relay has posted of this peer's items is unknown until a first comparison (invariant C3).
    var isUncertain = false
    /// The peer's generation as of the latest beat, and of the latest comparison.
    var peerGeneration: UInt64 = 0
    var comparedGeneration: UInt64 = 0
    var compareAt: UInt64 = 0
    /// The number of the latest question.
    var number: UInt32 = 0

    init(_ configuration: LinkConfiguration) {
        self.configuration = configuration
    }

    /// A walk through the peer's accounts.
    struct Comparison: Sendable {
        /// The first one with this center: accounts begin, nothing is lost.
        var isFirst: Bool
        var after: AccountKey?
        var askedAt: UInt64?
        var tries = 0
        var generation: UInt64?
        /// Where the peer stood when a first comparison began.
        var place: UInt64 = 0
        /// The peer has notifications of a known account that have not arrived here.
        var isBehind = false
        /// Values that the peer has in a newer version.
        var wanted: [LinkName: Version] = [:]
        var answers: [Item] = []
        /// The key to continue after once all wanted values have arrived; `nil`: none.
        var next: AccountKey?
        var isLast = false
    }

    /// Forgets what belongs to the peer's session.
    mutating func resetFlows() {
        peerRound = 0
        tail = 0
        scanned = 0
        unhandled = []
        described = []
        question = nil
        pulled = nil
        received = handled
        inbox = []
        inboxBytes = 0
        gapSince = nil
        isOverflown = false
        comparison = nil
        isEstablished = false
    }

    /// Begins a round: the peer continues after what was received.
    mutating func beginRound() {
        round &+= 1
        if round == 0 { round = 1 }
        gapSince = nil
        isOverflown = false
        beatAt = 0
    }

    mutating func nextNumber() -> UInt32 {
        number &+= 1
        return number
    }
}
