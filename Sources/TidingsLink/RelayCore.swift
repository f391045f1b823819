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
    package private(set) var cursor: UInt64
    var index = RingIndex()
    var log: ContentLog
    /// What this relay has posted after `cursor`.
    var ownPosts = Queue<OwnPost>()
    var generation: UInt64 = 1

    var links: [Link]
    var groups: [Group: Int] = [:]
    /// Where each link goes on, by link and incarnation of its peer's center.
    var places: [PlaceKey: UInt64] = [:]

    var outstanding: Outstanding?
    var now: UInt64 = 0
    var needsCheckpoint = false
    var isStoring = false
    /// No post before this time.
    var postsHeldUntil: UInt64 = 0
    private var storedAt: UInt64

    struct Group: Hashable, Sendable {
        var sends: NameList
        var accepts: NameList
    }

    struct PlaceKey: Hashable, Sendable {
        var link: String
        var incarnation: UInt64
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
                raiseFloor(number, account)
            }
        }
        for (name, value) in checkpoint.values {
            guard let origin = originNumbers[value.origin.incarnation] else { continue }
            retained[names.intern(name)] = RetainedRecord(
                version: value.version, position: value.position, origin: origin)
        }
        for place in checkpoint.places {
            places[PlaceKey(link: place.link, incarnation: place.incarnation)] = place.place
        }
        for link in self.links.indices {
            #if !MUTANT_UNCERTAINTY_FORGOTTEN  // Found by: link 6606
                self.links[link].isUncertain = checkpoint.uncertain.contains(self.links[link].configuration.name)
            #endif
        }
        if oldest > cursor { becomeUncertain(oldest) }
    }

    /// Invariant C3: counts go on above all that may have been used, and every peer is compared before items arrive.
    private mutating func becomeUncertain(_ oldest: UInt64) {
        let unknown = oldest - cursor
        #if !MUTANT_UNKNOWN_COUNTS_REUSED  // Found by: link 2041
            for number in 0..<accounts.count where accounts.records[number].origin == 0 {
                accounts[number].count = accounts[number].count.adding(unknown)
                accounts[number].unsure = accounts[number].count
                accounts[number].sequence = max(accounts[number].sequence, oldest - 1)
            }
            ownBase = ownBase.adding(unknown)
        #endif
        #if !MUTANT_UNCERTAIN_PLACES_KEPT  // Found by: link 313
            places = [:]
        #endif
        for link in links.indices { links[link].isUncertain = true }
        cursor = oldest
        generation += 1
        needsCheckpoint = true
    }

    private mutating func raiseFloor(_ origin: Int, _ account: Account) {
        #if !MUTANT_ORDER_FORGOTTEN_AT_RESTART  // Found by: link 18
            if account.count > account.base { origins[origin].floor = max(origins[origin].floor, account.sequence + 1) }
        #endif
    }

    var own: UInt64 { origins[0].origin.incarnation }

    /// The number of an origin; `nil`: there are too many. A new one is stored before its first notification is posted.
    mutating func originNumber(of origin: Origin) -> Int? {
        if let number = originNumbers[origin.incarnation] {
            if origins[number].origin.center.isEmpty, !origin.center.isEmpty {
                origins[number].origin = origin
                needsCheckpoint = true
            }
            return number
        }
        guard origins.count < limits.origins else { return nil }
        originNumbers[origin.incarnation] = origins.count
        origins.append(OriginRecord(origin: origin))
        needsCheckpoint = true
        return origins.count - 1
    }

    mutating func nameNumber(of name: LinkName) -> Int? {
        if let number = names.number(of: name) { return number }
        return names.count < limits.names ? names.intern(name) : nil
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

    // MARK: - Reading the center

    /// The next notification of the ring that a link sends. The relay's own posts need not be read.
    ///
    /// - Parameter content: the bytes, if they are at hand: the core copies them. `nil`: it asks for them when it needs
    ///   them.
    package mutating func read(_ record: RingRecord, _ content: ContentView? = nil) {
        guard record.position >= cursor else { return }
        addOwnPosts(before: record.position)
        cursor = record.position + 1
        if let post = ownPosts.first, post.position == record.position {
            ownPosts.removeFirst()
            add(post)
        } else {
            add(record, content)
        }
        didRead()
    }

    /// Everything before this position has been read, or is for no link, or was posted by this relay.
    package mutating func readThrough(_ end: UInt64) {
        guard end > cursor else { return }
        addOwnPosts(before: end)
        cursor = end
        didRead()
    }

    /// True: this relay has posted at this position, and the core has not passed it. The driver need not read it.
    package func isOwnPost(_ position: UInt64) -> Bool { ownPosts.contains { $0.position == position } }

    private mutating func addOwnPosts(before end: UInt64) {
        while let post = ownPosts.first, post.position < end {
            ownPosts.removeFirst()
            cursor = post.position + 1
            add(post)
        }
    }

    private mutating func didRead() {
        index.remove(before: cursor.reduced(by: slots))
        if cursor - storedAt > slots / 4 { needsCheckpoint = true }
    }

    private mutating func add(_ record: RingRecord, _ content: ContentView?) {
        guard record.name >= 0, record.name < names.count else { return }
        if let relayed = record.relayed, relayed.isValue || relayed.incarnation != own {
            addRelayed(record, relayed, content)
        } else {
            addOwn(record, content)
        }
    }

    private func ownAccount(_ name: Int) -> Account {
        accounts[0, name] ?? Account(sequence: 0, count: ownBase, base: ownBase, unsure: ownBase)
    }

    private mutating func addOwn(_ record: RingRecord, _ content: ContentView?) {
        let name = record.name
        let number =
            accounts.number(origin: 0, name: name) ?? accounts.set(ownAccount(name), origin: 0, name: name)
        accounts[number].count += 1
        accounts[number].sequence = record.position
        let version = record.isRetained ? ownVersion(record, name) : nil
        if let version {
            retained[name] = RetainedRecord(version: version, position: record.position, origin: 0)
        }
        index.append(
            RingIndex.Record(
                position: record.position, sequence: record.position, count: accounts[number].count,
                date: version?.date ?? 0, content: log(content), account: Int32(number), link: -1,
                hasVersion: version != nil, isCleared: record.isCleared))
    }

    private mutating func log(_ content: ContentView?) -> ContentLog.Place {
        content.map { log.append($0) } ?? ContentLog.nowhere
    }

    /// `nil`: this relay has posted another value behind the record, before it read the record. No center needs to keep
    /// this one (invariant V2).
    private func ownVersion(_ record: RingRecord, _ name: Int) -> Version? {
        let version = candidate(
            name, date: record.postedAt, sequence: record.position, isCleared: record.isCleared)
        #if !MUTANT_REPLACED_VALUE_KEEPS_VERSION  // Found by: link 1077
            if let posted = ahead[name]?.last?.version, posted < version { return nil }
        #endif
        return version
    }

    /// Invariant V1.
    private func candidate(_ name: Int, date: UInt64, sequence: UInt64, isCleared: Bool) -> Version {
        #if MUTANT_VERSION_BY_CLOCK_ALONE  // Found by: link 674
            let least = UInt64(0)
        #else
            let least = retained[name].map { $0.version.date + 1 } ?? 0
        #endif
        return Version(
            date: min(max(date, least), LinkLimits.number - 1), incarnation: own, sequence: sequence,
            isCleared: isCleared)
    }

    /// What another relay has posted: after a restart, the relay before this one (invariant C1).
    private mutating func addRelayed(_ record: RingRecord, _ relayed: Relayed, _ content: ContentView?) {
        guard let origin = originNumber(of: Origin(incarnation: relayed.incarnation)) else { return }
        if origin != 0, accounts[origin, record.name].map({ relayed.sequence > $0.sequence }) ?? true {
            accounts.set(relayed.account, origin: origin, name: record.name)
            raiseFloor(origin, relayed.account)
        }
        if relayed.isValue {
            generation += 1
        } else if let number = accounts.number(origin: origin, name: record.name) {
            let version = record.isRetained ? relayed.version : nil
            index.append(
                RingIndex.Record(
                    position: record.position, sequence: relayed.sequence, count: relayed.count,
                    date: version?.date ?? 0, content: log(content), account: Int32(number), link: -1,
                    hasVersion: version != nil, isCleared: record.isCleared))
        }
        if record.isRetained { keep(relayed.version, record.name, at: record.position, origin: origin) }
    }

    /// What this relay has posted.
    private mutating func add(_ post: OwnPost) {
        if post.account < 0 {
            generation += 1
        } else {
            index.append(
                RingIndex.Record(
                    position: post.position, sequence: post.sequence, count: post.count,
                    date: post.version?.date ?? 0, content: post.content, account: post.account, link: post.link,
                    hasVersion: post.version != nil, isCleared: post.isCleared))
        }
        if post.isRetained { keep(post.version, Int(post.name), at: post.position, origin: Int(post.origin)) }
    }

    /// A retained post of a relay was read.
    private mutating func keep(_ version: Version?, _ name: Int, at position: UInt64, origin: Int) {
        guard let version else { return }
        ahead[name]?.removeAll { $0.position <= position }
        if ahead[name]?.isEmpty == true { ahead[name] = nil }
        if retained[name].map({ version > $0.version }) ?? true {
            retained[name] = RetainedRecord(version: version, position: position, origin: origin)
        }
    }

    /// After a restart: everything that is in the ring, oldest first.
    package mutating func replay(_ records: [RingRecord]) {
        for record in records where record.isRetained && record.position >= cursor {
            guard let version = record.relayed?.version else { continue }
            ahead[record.name, default: []].append((record.position, version))
        }
        indexAgain(records.prefix { $0.position < cursor })
        for record in records { read(record) }
    }

    /// The records before the checkpoint. They are in its accounts, and peers may still ask for them. The relay that
    /// read them missed none in between: what it missed had left the ring then. So counting back from the accounts
    /// gives each its count.
    private mutating func indexAgain(_ records: ArraySlice<RingRecord>) {
        index.begin(at: records.first?.position ?? cursor)
        var counts: [Int: UInt64] = [:]
        for record in accounts.records where record.origin == 0 { counts[record.name] = record.account.count }
        let found = records.reversed().compactMap { record -> RingIndex.Record? in
            let name = record.name
            // An older version of a name is not needed: its item is sent as an ordinary notification.
            let version = retained[name].flatMap {
                record.isRetained && $0.position == record.position ? $0.version : nil
            }
            var found = RingIndex.Record(
                position: record.position, sequence: record.position, count: 0, date: version?.date ?? 0,
                content: ContentLog.nowhere, account: -1, link: -1, hasVersion: version != nil,
                isCleared: record.isCleared)
            var origin = 0
            if let relayed = record.relayed, relayed.isValue || relayed.incarnation != own {
                guard !relayed.isValue, let known = originNumbers[relayed.incarnation] else { return nil }
                origin = known
                found.sequence = relayed.sequence
                found.count = relayed.count
            } else {
                found.count = counts[name] ?? 0
                counts[name] = found.count.reduced(by: 1)
            }
            guard let number = accounts.number(origin: origin, name: name) else { return nil }
            found.account = Int32(number)
            return found
        }
        for record in found.reversed() { index.append(record) }
    }

    /// The ring was lapped before it was read. `counts`: how many notifications of each name were lost, from `cursor`
    /// up to and without `end`. They include those that this relay posted. The driver then calls `refresh`.
    package mutating func missed(_ counts: [Int: UInt64], before end: UInt64) {
        guard end > cursor else { return }
        var counts = counts
        // Invariant A3: the relay knows the marks of its own posts.
        while let post = ownPosts.first, post.position < end {
            ownPosts.removeFirst()
            cursor = post.position + 1
            add(post)
            #if !MUTANT_OWN_POSTS_COUNT_AS_LOST  // Found by: link 30
                counts[Int(post.name)] = counts[Int(post.name)]?.reduced(by: 1)
            #endif
        }
        cursor = end
        for (name, count) in counts.sorted(by: { $0.key < $1.key })
        where count > 0 && name >= 0 && name < names.count {
            var account = ownAccount(name)
            account.count = min(account.count.adding(count), LinkLimits.number - 1)
            account.sequence = end - 1
            accounts.set(account, origin: 0, name: name)
        }
        generation += 1
        didRead()
    }

    /// The retained values of the center: all of them. After a start, and after a loss.
    package mutating func refresh(_ values: [RingRecord], date: UInt64) {
        var present: Set<Int> = []
        for value in values where value.name >= 0 && value.name < names.count {
            let name = value.name
            present.insert(name)
            guard value.position < cursor else { continue }
            if let known = retained[name], known.position >= value.position { continue }
            if let relayed = value.relayed {
                guard let version = relayed.version,
                    let origin = originNumber(of: Origin(incarnation: relayed.incarnation)),
                    retained[name].map({ version > $0.version }) ?? true
                else { continue }
                retained[name] = RetainedRecord(version: version, position: value.position, origin: origin)
                if accounts[origin, name] == nil {
                    accounts.set(
                        Account(sequence: version.sequence, count: relayed.count, base: relayed.count), origin: origin,
                        name: name)
                }
            } else {
                let version = candidate(
                    name, date: value.postedAt, sequence: value.position, isCleared: false)
                keepOwn(version, name, at: value.position)
            }
            generation += 1
        }
        for (name, known) in retained.sorted(by: { $0.key < $1.key })
        where !known.version.isCleared && known.position < cursor && ahead[name] == nil && !present.contains(name) {
            // The clear has left the ring, or is still to be read.
            let version = candidate(name, date: date, sequence: cursor.reduced(by: 1), isCleared: true)
            keepOwn(version, name, at: cursor.reduced(by: 1))
            generation += 1
        }
    }

    /// A value or a clear of this center whose notification was not read.
    private mutating func keepOwn(_ version: Version, _ name: Int, at position: UInt64) {
        retained[name] = RetainedRecord(version: version, position: position, origin: 0)
        var account = ownAccount(name)
        account.sequence = max(account.sequence, version.sequence)
        accounts.set(account, origin: 0, name: name)
    }

    // MARK: - Posting

    /// The post that `next` returned last has this position. Between the two, the driver calls nothing else.
    package mutating func posted(at position: UInt64) {
        guard let done = outstanding else { return }
        outstanding = nil
        let relayed = done.relayed
        var number = -1
        if done.isItem {
            number = done.account
            if number >= 0 {
                accounts[number] = relayed.account
            } else {
                number = accounts.set(relayed.account, origin: done.origin, name: done.name)
            }
            origins[done.origin].setTop(links[done.link].group, sequence: relayed.sequence, link: done.link)
            links[done.link].removeFromInbox(limits, isCounted: true)
            links[done.link].didHandle()
        }
        if done.isRetained, let version = relayed.version {
            ahead[done.name, default: []].append((position, version))
        }
        ownPosts.append(
            OwnPost(
                position: position, sequence: relayed.sequence, count: relayed.count, version: relayed.version,
                content: done.content, link: Int32(done.link), name: Int32(done.name), origin: Int32(done.origin),
                account: Int32(number), isRetained: done.isRetained, isCleared: done.isCleared))
        links[done.link].figures.posted += 1
    }

    /// The post that `next` returned last failed for now. Its item is decided again: what was read meanwhile can make a
    /// value an older one.
    ///
    /// - Parameter time: `next` returns no post before this time of `advance`. Items still go out.
    package mutating func notPosted(until time: UInt64 = 0) {
        guard let failed = outstanding else { return }
        outstanding = nil
        postsHeldUntil = time
        if !failed.isItem { links[failed.link].needsComparison = true }
    }

    /// The post that `next` returned last can never succeed here. A notification counts as lost.
    package mutating func discarded() {
        guard let failed = outstanding else { return }
        outstanding = nil
        links[failed.link].figures.refused += 1
        guard failed.isItem else { return }
        var account = failed.relayed.account
        account.addLoss(1, at: cursor)
        accounts.set(account, origin: failed.origin, name: failed.name)
        generation += 1
        links[failed.link].removeFromInbox(limits, isCounted: true)
        links[failed.link].didHandle()
    }

    /// Notes what is to be posted.
    @inline(__always)
    mutating func post(_ post: Post, link: Int, origin: Int, account: Int, isItem: Bool) -> Post {
        outstanding = Outstanding(
            link: link, origin: origin, name: post.name, account: account, relayed: post.relayed,
            // Only another link sends it on.
            content: links.count > 1 && isItem ? post.content.withView { log.append($0) } : ContentLog.nowhere,
            isRetained: post.isRetained, isCleared: post.isCleared, isItem: isItem)
        return post
    }

    /// The checkpoint that `next` returned is stored.
    package mutating func stored() {
        isStoring = false
    }

    package mutating func makeCheckpoint() -> Checkpoint {
        for link in links.indices { notePlace(link) }
        var stored = origins.map { Checkpoint.OriginAccounts(origin: $0.origin, accounts: [:]) }
        for record in accounts.records { stored[record.origin].accounts[names.names[record.name]] = record.account }
        var values: [LinkName: Checkpoint.Value] = [:]
        for (name, value) in retained {
            values[names.names[name]] = Checkpoint.Value(
                version: value.version, position: value.position, origin: origins[value.origin].origin)
        }
        return Checkpoint(
            position: cursor, origins: stored, values: values,
            places: places.map {
                Checkpoint.LinkPlace(link: $0.key.link, incarnation: $0.key.incarnation, place: $0.value)
            },
            uncertain: links.filter(\.isUncertain).map(\.configuration.name), ownBase: ownBase)
    }

    mutating func takeCheckpoint() -> Checkpoint {
        needsCheckpoint = false
        isStoring = true
        storedAt = cursor
        return makeCheckpoint()
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

    /// Whether notifications of the peer are posted: the first comparison has ended.
    package func isReceiving(onLink link: Int) -> Bool {
        links[link].isEstablished && links[link].received != Beat.end
    }
}
