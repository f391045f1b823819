// One link of a relay: its session, what it has sent, and where it stands in its peer's ring.

/// A link as its relay was configured.
package struct LinkConfiguration: Hashable, Sendable {
    /// The same on both sides.
    package var name: String
    package var sends: NameList
    package var accepts: NameList
    /// Retained values are values at the other end, and are compared. False: they are ordinary notifications there, and
    /// here.
    package var retained: Bool
    /// Names of `sends` that the relay keeps in the ring until the peer has acknowledged them; `nil`: none.
    package var lossless: NameList?
    /// Milliseconds for which it does so without an acknowledgement.
    package var losslessTimeout: UInt64
    /// Request names that this side serves for the peer, and those of the peer that this side may call.
    package var serves = NameList()
    package var calls = NameList()
    /// The peer is told of this center's participants; the peer's participants are shown here.
    package var announces = false
    package var shows = false
    /// Bytes of a payload from the peer, if the center does not take less.
    package var payload = Int.max

    package init(
        name: String, sends: NameList, accepts: NameList, retained: Bool = true, lossless: NameList? = nil,
        losslessTimeout: UInt64 = 1000
    ) {
        self.name = name
        self.retained = retained
        self.lossless = lossless
        self.losslessTimeout = losslessTimeout
        self.sends = sends
        self.accepts = accepts
    }
}

extension LinkConfiguration {
    /// The link passes more than notifications.
    package var usesDialog: Bool { !serves.isEmpty || !calls.isEmpty || announces || shows }
}

/// Why a link that has a transport carries nothing.
package enum LinkTrouble: Hashable, Sendable {
    /// The peer speaks another version of the protocol.
    case version(UInt16)
    /// The other end is this center.
    case itself
    /// Another center uses the link's name, and the link has a peer already.
    case taken(by: Origin)
    /// The peer has another name for the link.
    case name(String)
    /// Neither side sends a name that the other one accepts.
    case noCommonName
}

struct Link: Sendable {
    let configuration: LinkConfiguration
    var trouble: LinkTrouble?
    /// When a greeting showed it last.
    var troubleAt: UInt64 = 0
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
    /// Links with equal name lists are a group (invariant O2). Numbers are below the number of links.
    var group = 0
    /// The lists of the group; `nil`: the link has not had a peer.
    var lists: RelayCore.Group?
    var heardAt: UInt64 = 0
    var greetAt: UInt64 = 0

    // As sender. Each place is that of the next item: places before it are done.
    /// 0: the peer has not asked for items.
    var peerRound: UInt32 = 0
    var tail: UInt64 = 0
    /// Records before this position were sent, or are not for this link.
    var scanned: UInt64 = 0
    /// The number in the index of the first record from `scanned` on; -1: not known.
    var scan = -1
    /// The frames that the peer has not handled.
    var sent = Queue<SentFrame>()
    /// Everything before this place was handled by the peer in some session, or was not for it.
    var acknowledged: UInt64 = 0
    /// The peer has received everything before this place, and has not handled all of it; 0: it has.
    var owed: UInt64 = 0
    /// The items and bytes of `sent`.
    var unhandled = 0
    var unhandledBytes = 0
    /// Adds to the core's generation: losses of this link alone.
    var generation: UInt64 = 0
    var question: (number: UInt32, isFirst: Bool, from: UInt64)?
    /// Items had the last turn.
    var isValueNext = false
    /// The values that the peer has asked for, from the one numbered `next` on.
    var pulled: (number: UInt32, names: [LinkName], next: Int)?
    /// What the slots of this round stand for, and the latest slot of each account.
    var slots: [SentSlot] = []
    var slotOfAccount: [Int32] = []
    var nextSlot = 0
    /// The origins whose host and center an item of this round has told.
    var described: Set<Int> = []
    /// By the number of a name: whether this link sends it; 0: not known, 1: no, 2: yes.
    var sends: [UInt8] = []
    /// The number of the peer's center among the origins; -1: there are too many.
    var peerOrigin = -1
    /// The place of an answer that the peer can't have reached; 0: none.
    var promised: UInt64 = 0

    // As receiver.
    var round: UInt32 = 0
    /// The peer has begun it, too.
    var isRoundHeard = false
    var received: UInt64 = 0
    var handled: UInt64 = 0
    var inbox = Queue<InboxFrame>()
    /// Its items and bytes.
    var inboxCount = 0
    var inboxBytes = 0
    /// What the peer's slots stand for, after the items that were taken out of the inbox.
    var table: [ReceivedSlot] = []
    /// Items were dropped, because the inbox was full.
    var isOverflown = false
    /// No post before this time.
    var postsHeldUntil: UInt64 = 0
    /// Origins and names that this link's frames have begun (invariant T3).
    var originsBegun = 0
    var namesBegun = 0
    /// When the gap that is open now was first seen; `nil`: no gap.
    var gapSince: UInt64?
    var comparison: Comparison?
    /// The place before which all must have been handled for the answer that waits; .max: none waits.
    var pendingPlace = UInt64.max
    var needsComparison = false
    /// Values that have arrived, also after this relay has given them up.
    var answers = Queue<Item>()
    /// Bytes of these.
    var answerBytes = 0
    /// What this relay has posted of this peer's items is unknown until a first comparison (invariant C3).
    var isUncertain = false
    /// The peer's generation as of the latest beat, and of the latest comparison.
    var peerGeneration: UInt64 = 0
    var comparedGeneration: UInt64 = 0
    var compareAt: UInt64 = 0
    /// When values are asked for again that the peer did not send; .max: there are none.
    var compareAgainAt = UInt64.max
    /// The number of the latest question.
    var number: UInt32 = 0

    var dialog = Dialog(number: 0)
    var calls = LinkCalls()
    var view = PresenceView()

    // Beats.
    var beatAt: UInt64 = 0
    /// When an acknowledgement is due; .max: none is.
    var acknowledgeAt = UInt64.max
    var beatSentAt: UInt64 = 0
    /// The generation of the latest beat.
    var toldGeneration: UInt64 = 0
    /// What was handled since the latest beat.
    var newlyHandled = 0
    var newlyHandledBytes = 0

    init(_ configuration: LinkConfiguration) {
        self.configuration = configuration
    }

    struct SentFrame: Sendable {
        /// The place of its last item.
        var last: UInt64
        var count: Int
        var bytes: Int
    }

    struct SentSlot: Sendable {
        var account: Int
        var base: UInt64
        var unsure: UInt64
    }

    /// What a definition of the peer means here.
    struct ReceivedSlot: Sendable {
        /// -1: not defined, or refused: too many origins or names, or the link does not accept the name.
        var name = -1
        var origin = -1
        /// -1: not looked up.
        var account = -1
        var base: UInt64 = 0
        var unsure: UInt64 = 0
    }

    struct InboxFrame: Sendable {
        let frame: ItemFrame
        /// The next item, and the one before which the inbox ends.
        var next = 0
        let end: Int
        /// Items before this place were received by an earlier frame. They only define slots.
        let from: UInt64

        var place: UInt64 { max(frame.items[next].place, from) }
    }

    /// A walk through the peer's accounts.
    struct Comparison: Sendable {
        /// The first one with this center: accounts begin, nothing is lost.
        var isFirst: Bool
        var from: UInt64 = 0
        var askedAt: UInt64?
        var tries = 0
        /// An answer whose place this side has not reached.
        var pending: Accounts?
        var generation: UInt64?
        /// Where the peer stood when a first comparison began.
        var place: UInt64 = 0
        /// The peer has notifications of a known account that have not arrived here.
        var isBehind = false
        /// Values that the peer has in a newer version, and that have not arrived, by the number of the name.
        var wanted: [Int: Version] = [:]
        /// A value has arrived since the question.
        var hasProgress = false
        /// The account to continue with once all of these were decided; 0: none.
        var next: UInt64 = 0
        var isLast = false
    }

    /// Forgets what belongs to the peer's session.
    mutating func resetFlows() {
        peerRound = 0
        owed = 0
        continueSending(at: 0)
        question = nil
        pulled = nil
        sends = []
        peerOrigin = -1
        promised = 0
        received = handled
        inbox.removeAll()
        inboxCount = 0
        inboxBytes = 0
        table = []
        gapSince = nil
        isOverflown = false
        comparison = nil
        answers.removeAll()
        answerBytes = 0
        pendingPlace = .max
        compareAgainAt = .max
        isEstablished = false
    }

    /// The peer's round begins here.
    mutating func continueSending(at place: UInt64) {
        tail = place
        scanned = place
        scan = -1
        sent.removeAll()
        unhandled = 0
        unhandledBytes = 0
        slots = []
        nextSlot = 0
        described = []
    }

    // MARK: - In place
    //
    // These are called for each notification. Each is `mutating` because a nonmutating read of an element of an array
    // may copy the whole element.

    /// Whether `RelayCore.control` has something to do.
    mutating func isControlDue(_ now: UInt64, _ limits: LinkLimits, generation: UInt64) -> Bool {
        guard isConnected else { return false }
        guard isEstablished else { return greetAt <= now }
        if greetAt <= now || pendingPlace <= handled { return true }
        if isBeatDue(now, limits, generation: generation) { return true }
        if compareAgainAt <= now { return true }
        if gapSince != nil || question != nil || isOverflown || comparison != nil { return true }
        return (needsComparison || peerGeneration != comparedGeneration) && compareAt <= now
    }

    /// A new generation is told soon: the peer's values are older until it has compared. A round is told until it is
    /// heard.
    mutating func isBeatDue(_ now: UInt64, _ limits: LinkLimits, generation: UInt64) -> Bool {
        beatAt <= now || acknowledgeAt <= now
            || generation &+ self.generation != toldGeneration && beatSentAt + limits.compare <= now
            || !isRoundHeard && beatSentAt + limits.repeatAfter <= now
    }

    mutating func isDialogDue(_ now: UInt64, _ limits: LinkLimits) -> Bool {
        isEstablished && dialog.isDue(now, limits, isWritable: isWritable)
    }

    mutating func isSending() -> Bool { isEstablished && isWritable && peerRound != 0 }

    mutating func hasAnswers() -> Bool { !answers.isEmpty }

    /// Values or items wait to be posted.
    mutating func hasWork(_ now: UInt64) -> Bool {
        postsHeldUntil <= now && (hasAnswers() || !inbox.isEmpty && comparison?.isFirst != true)
    }

    /// The first item of the inbox, and the place before which items only define slots.
    mutating func firstItem() -> (item: FramedItem, from: UInt64)? {
        if inbox.isEmpty { return nil }
        return inbox.withFirst { ($0.frame.items[$0.next], $0.from) }
    }

    /// What the slot of an item stands for, and what the link has to do with it.
    mutating func meaning(_ slot: Int) -> (slot: ReceivedSlot, group: Int, retained: Bool) {
        (slot < table.count ? table[slot] : ReceivedSlot(), group, configuration.retained)
    }

    /// All before the first item of the inbox was handled.
    mutating func didHandle() {
        guard received != Beat.end else { return }
        handled = inbox.isEmpty ? received : inbox.withFirst { $0.place }
    }

    /// The first item of the inbox is done.
    mutating func removeFromInbox(_ limits: LinkLimits, isCounted: Bool) {
        let bytes = inbox.withFirst { first -> Int in
            first.next += 1
            return first.next == first.end ? first.frame.bytes.count : -1
        }
        if bytes >= 0 {
            inbox.removeFirst()
            inboxBytes -= bytes
            newlyHandledBytes += bytes
        }
        guard isCounted else { return }
        inboxCount -= 1
        newlyHandled += 1
        // Acknowledges a quarter of the window at once, and fewer items a little later.
        if newlyHandled >= max(1, limits.window / 4) || newlyHandledBytes >= limits.windowBytes / 4 {
            beatAt = 0
        } else if inboxCount == 0 {
            acknowledgeAt = min(acknowledgeAt, beatSentAt + limits.acknowledge)
        }
    }

    /// The slot of an account, and whether it is to be defined.
    mutating func slot(of account: Int, base: UInt64, unsure: UInt64, most: Int) -> (slot: Int, isNew: Bool) {
        while slotOfAccount.count <= account { slotOfAccount.append(-1) }
        let known = Int(slotOfAccount[account])
        #if MUTANT_SLOT_NOT_DEFINED_AGAIN  // Found by: link 2
            if known >= 0, known < slots.count { return (known, false) }
        #endif
        if known >= 0, known < slots.count, slots[known].account == account, slots[known].base == base,
            slots[known].unsure == unsure
        {
            return (known, false)
        }
        let slot = nextSlot
        nextSlot = (nextSlot + 1) % most
        let meaning = SentSlot(account: account, base: base, unsure: unsure)
        if slot < slots.count { slots[slot] = meaning } else { slots.append(meaning) }
        slotOfAccount[account] = Int32(slot)
        return (slot, true)
    }

    /// Begins a round: the peer continues after what was received.
    mutating func beginRound() {
        round &+= 1
        if round == 0 { round = 1 }
        isRoundHeard = false
        gapSince = nil
        isOverflown = false
        beatAt = 0
    }

    mutating func nextNumber() -> UInt32 {
        number &+= 1
        return number
    }
}
