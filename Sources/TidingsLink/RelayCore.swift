// The relay of one center, without input and output. A driver calls it with what it reads in the center and receives on
// links, and carries out what `next` returns. Docs/Design/Relay.md has the protocol and the invariants cited here.

package struct RelayCore: Sendable {
    package let limits: LinkLimits
    /// The number of slots of the center: a notification this far behind the end has left the ring.
    let slots: UInt64

    /// The first is the center's own.
    var origins: [OriginRecord]
    var originNumbers: [UInt64: Int]
    var names = NameTable()
    var accounts = AccountTable()
    /// The count with which accounts of new names of this center begin.
    var ownBase: UInt64 = 0

    /// By the number of the name.
    var retained: [Int: RetainedRecord] = [:]
    /// Retained posts of this relay that lie after `cursor`.
    var ahead: [Int: [(position: UInt64, version: Version)]] = [:]

    /// The position that is read next.
    package internal(set) var cursor: UInt64
    var index = RingIndex()
    var log: ContentLog
    /// What this relay has posted after `cursor`.
    var ownPosts = Queue<OwnPost>()
    var generation: UInt64 = 1

    var links: [Link]
    /// Where each link goes on, by link and incarnation of its peer's center.
    var places: [Checkpoint.LinkPlace] = []
    /// The link that has the next turn, and the posts since items had one.
    var turn = 0
    var postsInRow = 0

    // Requests.
    /// The names that servers of this center serve.
    var served: [LinkName] = []
    var lastDialog: UInt64 = 0
    var lastCall: UInt64 = 0
    var lastPeerCall: UInt64 = 0
    /// The participants of this center.
    var present: [UInt64: RemoteParticipant] = [:]
    /// Calls of peers, by their ids here.
    var peerCalls: [UInt64: PeerCall] = [:]
    /// What the driver has not taken yet, and the bytes of payloads since it had taken all.
    var events = Queue<DialogEvent>()
    var eventBytes = 0

    var outstanding: Outstanding?
    var now: UInt64 = 0
    var needsCheckpoint = false
    /// The ring did not reach back to the checkpoint, and has not been replayed yet.
    var isOutOfReach = false
    var isStoring = false
    /// No checkpoint before this time.
    var storeHeldUntil: UInt64 = 0
    var storedAt: UInt64
    /// How many notifications the ring holds, as the driver told last.
    var reach: UInt64

    struct Group: Hashable, Sendable {
        var sends: NameList
        var accepts: NameList
    }

    /// The one post whose position is not known yet, without its bytes.
    struct Outstanding: Sendable {
        var link: Int
        var origin: Int
        var name: Int
        /// The number of the account; -1: the post begins it, or is a value.
        var account: Int
        var relayed: Relayed
        var content: ContentLog.Place
        var isRetained: Bool
        var isCleared: Bool
        /// The first item of the inbox. Otherwise it is a value.
        var isItem: Bool
    }

    /// A post of this relay that it has not read.
    struct OwnPost: Sendable {
        var position: UInt64
        var sequence: UInt64
        var count: UInt64
        var version: Version?
        var content: ContentLog.Place
        var link: Int32
        var name: Int32
        var origin: Int32
        /// -1: a value.
        var account: Int32
        var isRetained: Bool
        var isCleared: Bool
    }

    /// A relay that begins at the end of its center: at `position`.
    package init(
        center: Origin, slots: UInt64, links: [LinkConfiguration], position: UInt64, limits: LinkLimits = LinkLimits()
    ) {
        self.limits = limits
        self.slots = slots
        reach = slots
        log = ContentLog(capacity: limits.log)
        self.links = links.map(Link.init)
        origins = [OriginRecord(origin: center)]
        originNumbers = [center.incarnation: 0]
        cursor = position
        storedAt = position
        needsCheckpoint = true
        index.begin(at: position)
    }

    /// A relay that goes on from a checkpoint. Afterwards the driver calls `replay` with the ring, and `refresh` with
    /// the retained values.
    ///
    /// - Parameter oldest: the oldest position in the ring.
    package init(
        checkpoint: Checkpoint, oldest: UInt64, slots: UInt64, links: [LinkConfiguration],
        limits: LinkLimits = LinkLimits()
    ) {
        self.init(
            center: checkpoint.origins[0].origin, slots: slots, links: links, position: checkpoint.position,
            limits: limits)
        ownBase = checkpoint.ownBase
        for (number, stored) in checkpoint.origins.enumerated() {
            if number > 0 {
                originNumbers[stored.origin.incarnation] = origins.count
                origins.append(OriginRecord(origin: stored.origin))
            }
            for (name, account) in stored.accounts.sorted(by: { $0.key < $1.key }) {
                accounts.set(account, origin: number, name: names.intern(name))
                origins[number].isStored = true
                raiseFloor(number, names.intern(name), account)
            }
        }
        for (name, value) in checkpoint.values {
            guard let origin = originNumbers[value.origin.incarnation] else { continue }
            retained[names.intern(name)] = RetainedRecord(
                version: value.version, position: value.position, origin: origin)
        }
        places = checkpoint.places.filter { place in links.contains { $0.name == place.link } }
        // What peers have begun before counts towards their shares.
        let foreign = (0..<names.count).count { accounts.number(origin: 0, name: $0) == nil }
        for link in self.links.indices {
            self.links[link].namesBegun = foreign / links.count
            self.links[link].originsBegun = (origins.count - 1) / links.count
        }
        for link in self.links.indices {
            #if !MUTANT_UNCERTAINTY_FORGOTTEN  // Found by: link 46430
                self.links[link].isUncertain = checkpoint.uncertain.contains(self.links[link].configuration.name)
            #endif
        }
        if oldest > cursor { becomeUncertain(oldest) }
    }

    /// Invariant C3: counts go on above all that may have been used, and every peer is compared before items arrive.
    private mutating func becomeUncertain(_ oldest: UInt64) {
        let unknown = oldest - cursor
        #if !MUTANT_UNKNOWN_COUNTS_REUSED  // Found by: link 2379
            for number in 0..<accounts.count where accounts.records[number].origin == 0 {
                accounts[number].count = accounts[number].count.adding(unknown)
                accounts[number].unsure = accounts[number].count
                accounts[number].sequence = max(accounts[number].sequence, oldest - 1)
            }
            ownBase = ownBase.adding(unknown)
        #endif
        #if !MUTANT_UNCERTAIN_PLACES_KEPT  // Found by: link 50
            places = []
        #endif
        for link in links.indices { links[link].isUncertain = true }
        cursor = oldest
        generation += 1
        needsCheckpoint = true
        isOutOfReach = true
    }

    mutating func raiseFloor(_ origin: Int, _ name: Int, _ account: Account) {
        #if !MUTANT_ORDER_FORGOTTEN_AT_RESTART  // Found by: link 211
            guard origin != 0, account.count > account.base, let number = accounts.number(origin: origin, name: name)
            else { return }
            accounts.records[number].floor = max(accounts.records[number].floor, account.sequence)
        #endif
    }

    var own: UInt64 { origins[0].origin.incarnation }

    /// The number of an origin; `nil`: there are too many. A new one is stored before its first notification is posted.
    ///
    /// - Parameter link: whose frame it comes from; `nil`: from the center.
    mutating func originNumber(of origin: Origin, _ link: Int? = nil) -> Int? {
        if let number = originNumbers[origin.incarnation] {
            if origins[number].origin.center.isEmpty, !origin.center.isEmpty {
                origins[number].origin = origin
                needsCheckpoint = true
            }
            return number
        }
        guard origins.count < limits.origins else { return nil }
        if let link {
            #if MUTANT_ORIGIN_SHARE_UNCHECKED  // Found by: fuzz link
                let share = isMutant("ORIGIN_SHARE_UNCHECKED") ? Int.max : limits.origins / links.count
            #else
                let share = limits.origins / links.count
            #endif
            guard links[link].originsBegun < share else { return nil }
            links[link].originsBegun += 1
        }
        originNumbers[origin.incarnation] = origins.count
        origins.append(OriginRecord(origin: origin))
        needsCheckpoint = true
        return origins.count - 1
    }

    /// Half of the names are for the center's own ones. Each link has a share of the others (invariant T3).
    mutating func nameNumber(of name: LinkName, _ link: Int? = nil) -> Int? {
        if let number = names.number(of: name) { return number }
        guard names.count < limits.names else { return nil }
        if let link {
            guard links[link].namesBegun < limits.names / 2 / links.count else { return nil }
            links[link].namesBegun += 1
        }
        return names.intern(name)
    }

    /// The number of a name in this relay. It stays the same as long as the relay lives. `nil`: the name is not 1 to
    /// 255 bytes of UTF-8 without NUL, or the relay knows too many.
    package mutating func number(of name: LinkName) -> Int? {
        name.isValid ? nameNumber(of: name) : nil
    }

    /// The same for the bytes of a name. Fast for names that come again.
    package mutating func number(of name: UnsafeRawBufferPointer) -> Int? {
        if let number = names.recentNumber(of: name) { return number }
        guard name.count <= LinkLimits.text, let text = String(validating: name, as: UTF8.self),
            let number = number(of: LinkName(text))
        else { return nil }
        names.setRecent(number, of: name)
        return number
    }

    /// It gives no further name a number.
    package var isFullOfNames: Bool { names.count >= limits.names }

    /// The name with a number that this relay has given.
    package func name(_ number: Int) -> LinkName { names.names[number] }

    /// The newest version of a name that this center has, or will have when its ring is read.
    func newest(_ name: Int) -> Version? {
        let known = retained[name]?.version
        guard let posted = ahead[name]?.last?.version else { return known }
        return known.map { max($0, posted) } ?? posted
    }

    func isNewer(_ version: Version?, name: Int) -> Bool {
        guard let version else { return false }
        guard let known = newest(name) else { return true }
        return version > known
    }

    // MARK: - For metrics and tests

    package func account(of incarnation: UInt64, name: LinkName) -> Account? {
        guard let origin = originNumbers[incarnation], let name = names.number(of: name) else { return nil }
        return accounts[origin, name]
    }

    /// `nil`: the link works, or its peer has not been heard.
    package func trouble(ofLink link: Int) -> LinkTrouble? { links[link].trouble }

    /// The center at the other end; `nil`: the link has no peer.
    package func peer(ofLink link: Int) -> Origin? { links[link].isEstablished ? links[link].peer?.center : nil }

    package func figures(ofLink link: Int) -> LinkFigures { links[link].figures }

    /// The centers that this relay knows; the first is its own.
    package var knownOrigins: [Origin] { origins.map(\.origin) }

    /// How many notifications of other centers were lost on their way here, in all accounts.
    package var lostInAll: UInt64 { accounts.records.reduce(0) { $1.origin == 0 ? $0 : $0.adding($1.account.lost) } }

    /// Positions that were not looked at for this link, and items that were sent and that the peer has not handled. 0:
    /// the link has no peer.
    package func waiting(ofLink link: Int) -> (lag: UInt64, unacknowledged: Int) {
        guard links[link].isEstablished, links[link].peerRound != 0 else { return (0, 0) }
        return (cursor.reduced(by: links[link].scanned), links[link].unhandled)
    }

    /// Everything before this position was handled by the peer, or is not for it. It can go back: what was not for
    /// the peer counts only while nothing that was sent waits.
    package func acknowledged(onLink link: Int) -> UInt64 {
        guard links[link].isEstablished, links[link].peerRound != 0, links[link].owed == 0,
            links[link].sent.isEmpty
        else {
            return links[link].acknowledged
        }
        return max(links[link].acknowledged, links[link].scanned)
    }

    /// Whether notifications of the peer are posted: the first comparison has ended.
    package func isReceiving(onLink link: Int) -> Bool {
        links[link].isEstablished && links[link].received != Beat.end
    }
}
