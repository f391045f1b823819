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
    /// All accounts, sorted; `nil`: accounts were added since.
    var sortedKeys: [AccountKey]?
    /// The count with which accounts of new names of this center begin.
    var ownBase: UInt64 = 0

    /// By the number of the name.
    var retained: [Int: RetainedRecord] = [:]
    /// Retained posts of this relay that lie after `cursor`.
    var ahead: [Int: [(position: UInt64, version: Version)]] = [:]

    /// The position that is read next.
    package private(set) var cursor: UInt64
    var index = RingIndex()
    /// What this relay has posted after `cursor`.
    var ownPosts: [(record: RingRecord, link: Int)] = []
    var generation: UInt64 = 1

    var links: [Link]
    var groups: [Group: Int] = [:]
    /// Where each link goes on, by link and incarnation of its peer's center.
    var places: [PlaceKey: UInt64] = [:]

    var outstanding: Outstanding?
    var now: UInt64 = 0
    var needsCheckpoint = false
    var isStoring = false
    private var storedAt: UInt64

    struct Group: Hashable, Sendable {
        var sends: NameList
        var accepts: NameList
    }

    struct PlaceKey: Hashable, Sendable {
        var link: String
        var incarnation: UInt64
    }

    /// The one post whose position is not known yet.
    struct Outstanding: Sendable {
        var link: Int
        var post: Post
        var origin: Int
        var name: Int
        /// The account after the post; `nil` for a value.
        var account: Account?
        var item: Item
    }

    /// A relay that begins at the end of its center: at `position`.
    package init(
        center: Origin, slots: UInt64, links: [LinkConfiguration], position: UInt64, limits: LinkLimits = LinkLimits()
    ) {
        self.limits = limits
        self.slots = slots
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
            for (name, account) in stored.accounts {
                origins[number].accounts[names.intern(name)] = account
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
            for (name, account) in origins[0].accounts {
                var account = account
                account.count = account.count.adding(unknown)
                account.unsure = account.count
                account.sequence = max(account.sequence, oldest - 1)
                origins[0].accounts[name] = account
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

    /// The number of an origin; `nil`: there are too many.
    mutating func originNumber(of origin: Origin) -> Int? {
        if let number = originNumbers[origin.incarnation] {
            if origins[number].origin.center.isEmpty, !origin.center.isEmpty { origins[number].origin = origin }
            return number
        }
        guard origins.count < limits.origins else { return nil }
        originNumbers[origin.incarnation] = origins.count
        origins.append(OriginRecord(origin: origin))
        return origins.count - 1
    }

    mutating func nameNumber(of name: LinkName) -> Int? {
        if let number = names.number(of: name) { return number }
        return names.names.count < limits.names ? names.intern(name) : nil
    }

    mutating func setAccount(_ account: Account, origin: Int, name: Int) {
        if origins[origin].accounts.updateValue(account, forKey: name) == nil { sortedKeys = nil }
    }

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

    /// The next notification of the ring that a link sends, posted here or by a relay.
    package mutating func read(_ record: RingRecord) {
        guard record.position >= cursor else { return }
        cursor = record.position + 1
        var link = -1
        while let post = ownPosts.first, post.record.position <= record.position {
            if post.record.position == record.position { link = post.link }
            ownPosts.removeFirst()
        }
        add(record, link: link)
        didRead()
    }

    private mutating func didRead() {
        index.remove(before: cursor.reduced(by: slots))
        if cursor - storedAt > slots / 4 { needsCheckpoint = true }
    }

    private mutating func add(_ record: RingRecord, link: Int) {
        guard record.name.isValid, let name = nameNumber(of: record.name) else { return }
        if let relayed = record.relayed, relayed.isValue || relayed.mark.origin.incarnation != own {
            addRelayed(record, relayed, name, link)
        } else {
            addOwn(record, name)
        }
    }

    private func ownAccount(_ name: Int) -> Account {
        origins[0].accounts[name] ?? Account(sequence: 0, count: ownBase, base: ownBase, unsure: ownBase)
    }

    private mutating func addOwn(_ record: RingRecord, _ name: Int) {
        var account = ownAccount(name)
        account.count += 1
        account.sequence = record.position
        setAccount(account, origin: 0, name: name)
        let version = record.isRetained ? ownVersion(record, name) : nil
        if let version {
            retained[name] = RetainedRecord(version: version, position: record.position, origin: 0)
        }
        index.append(
            RingIndex.Record(
                position: record.position, origin: 0, name: name, sequence: record.position, count: account.count,
                version: version, isCleared: record.isCleared, link: -1))
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

    private mutating func addRelayed(_ record: RingRecord, _ relayed: Relayed, _ name: Int, _ link: Int) {
        guard let origin = originNumber(of: relayed.mark.origin) else { return }
        let mark = relayed.mark
        let known = origins[origin].accounts[name]
        // After a restart: what the relay before this one had posted (invariant C1).
        if origin != 0, known.map({ mark.sequence > $0.sequence }) ?? true {
            var account = known ?? Account(sequence: 0, count: mark.base, base: mark.base)
            account.sequence = mark.sequence
            account.count = mark.count
            account.unsure = mark.unsure
            account.lost = relayed.lost
            account.lostUnsure = relayed.lostUnsure
            setAccount(account, origin: origin, name: name)
            raiseFloor(origin, account)
        }
        if !relayed.isValue {
            index.append(
                RingIndex.Record(
                    position: record.position, origin: origin, name: name, sequence: mark.sequence, count: mark.count,
                    version: record.isRetained ? relayed.version : nil, isCleared: record.isCleared, link: link))
        } else {
            generation += 1
        }
        guard record.isRetained, let version = relayed.version else { return }
        ahead[name]?.removeAll { $0.position <= record.position }
        if ahead[name]?.isEmpty == true { ahead[name] = nil }
        if retained[name].map({ version > $0.version }) ?? true {
            retained[name] = RetainedRecord(version: version, position: record.position, origin: origin)
        }
    }

    /// After a restart: everything that is in the ring, oldest first.
    package mutating func replay(_ records: [RingRecord]) {
        for record in records where record.isRetained && record.position >= cursor {
            guard let version = record.relayed?.version, record.name.isValid, let name = nameNumber(of: record.name)
            else { continue }
            ahead[name, default: []].append((record.position, version))
        }
        indexAgain(records.prefix { $0.position < cursor })
        for record in records { read(record) }
    }

    /// The records before the checkpoint. They are in its accounts, and peers may still ask for them. The relay that
    /// read them missed none in between: what it missed had left the ring then. So counting back from the accounts
    /// gives each its count.
    private mutating func indexAgain(_ records: ArraySlice<RingRecord>) {
        index.begin(at: records.first?.position ?? cursor)
        var counts = origins[0].accounts.mapValues(\.count)
        let found = records.reversed().compactMap { record -> RingIndex.Record? in
            guard record.name.isValid, let name = nameNumber(of: record.name) else { return nil }
            // An older version of a name is not needed: its item is sent as an ordinary notification.
            let version = retained[name].flatMap {
                record.isRetained && $0.position == record.position ? $0.version : nil
            }
            if let relayed = record.relayed, relayed.isValue || relayed.mark.origin.incarnation != own {
                guard !relayed.isValue, let origin = originNumber(of: relayed.mark.origin) else { return nil }
                return RingIndex.Record(
                    position: record.position, origin: origin, name: name, sequence: relayed.mark.sequence,
                    count: relayed.mark.count, version: version, isCleared: record.isCleared, link: -1)
            }
            let count = counts[name] ?? 0
            counts[name] = count.reduced(by: 1)
            return RingIndex.Record(
                position: record.position, origin: 0, name: name, sequence: record.position, count: count,
                version: version, isCleared: record.isCleared, link: -1)
        }
        for record in found.reversed() { index.append(record) }
    }

    /// The ring was lapped before it was read. `counts`: how many notifications of each name were lost, from `cursor`
    /// up to and without `end`. They include those that this relay posted. The driver then calls `refresh`.
    package mutating func missed(_ counts: [LinkName: UInt64], before end: UInt64) {
        guard end > cursor else { return }
        var counts = counts
        // Invariant A3: the relay knows the marks of its own posts.
        while let post = ownPosts.first, post.record.position < end {
            ownPosts.removeFirst()
            cursor = post.record.position + 1
            add(post.record, link: post.link)
            #if !MUTANT_OWN_POSTS_COUNT_AS_LOST  // Found by: link 30
                counts[post.record.name] = counts[post.record.name]?.reduced(by: 1)
            #endif
        }
        cursor = end
        for (text, count) in counts where count > 0 && text.isValid {
            guard let name = nameNumber(of: text) else { continue }
            var account = ownAccount(name)
            account.count = min(account.count.adding(count), LinkLimits.number - 1)
            account.sequence = end - 1
            setAccount(account, origin: 0, name: name)
        }
        generation += 1
        didRead()
    }

    /// The retained values of the center: all of them. After a start, and after a loss.
    package mutating func refresh(_ values: [RingRecord], date: UInt64) {
        var present: Set<Int> = []
        for value in values {
            guard value.name.isValid, let name = nameNumber(of: value.name) else { continue }
            present.insert(name)
            guard value.position < cursor else { continue }
            if let known = retained[name], known.position >= value.position { continue }
            if let relayed = value.relayed {
                guard let version = relayed.version, let origin = originNumber(of: relayed.mark.origin),
                    retained[name].map({ version > $0.version }) ?? true
                else { continue }
                retained[name] = RetainedRecord(version: version, position: value.position, origin: origin)
                if origins[origin].accounts[name] == nil {
                    let mark = relayed.mark
                    setAccount(
                        Account(sequence: version.sequence, count: mark.count, base: mark.count), origin: origin,
                        name: name)
                }
            } else {
                let version = candidate(
                    name, date: value.postedAt, sequence: value.position, isCleared: false)
                retained[name] = RetainedRecord(version: version, position: value.position, origin: 0)
                var account = ownAccount(name)
                account.sequence = max(account.sequence, value.position)
                setAccount(account, origin: 0, name: name)
            }
            generation += 1
        }
        for (name, known) in retained
        where !known.version.isCleared && known.position < cursor && ahead[name] == nil && !present.contains(name) {
            // The clear has left the ring, or is still to be read.
            let version = candidate(name, date: date, sequence: cursor.reduced(by: 1), isCleared: true)
            retained[name] = RetainedRecord(version: version, position: cursor.reduced(by: 1), origin: 0)
            var account = ownAccount(name)
            account.sequence = max(account.sequence, version.sequence)
            setAccount(account, origin: 0, name: name)
            generation += 1
        }
    }

    // MARK: - Posting

    /// The post that `next` returned last has this position. Between the two, the driver calls nothing else.
    package mutating func posted(at position: UInt64) {
        guard let done = outstanding else { return }
        outstanding = nil
        let record = RingRecord(
            position: position, name: done.post.name, postedAt: done.post.content.postedAt,
            isRetained: done.post.isRetained, isCleared: done.post.isCleared, relayed: done.post.relayed)
        ownPosts.append((record, done.link))
        if done.post.isRetained, let version = done.post.relayed.version {
            ahead[done.name, default: []].append((position, version))
        }
        if let account = done.account {
            setAccount(account, origin: done.origin, name: done.name)
            let top = OriginRecord.Top(
                sequence: max(account.sequence, origins[done.origin].top[links[done.link].group]?.sequence ?? 0),
                link: done.link)
            origins[done.origin].top[links[done.link].group] = top
            didHandle(done.link)
        }
        links[done.link].figures.posted += 1
    }

    /// The post that `next` returned last failed for now. Its item is decided again: what was read meanwhile can make a
    /// value an older one.
    package mutating func notPosted() {
        guard let failed = outstanding else { return }
        outstanding = nil
        if failed.account != nil {
            links[failed.link].inbox.insert(failed.item, at: 0)
            links[failed.link].inboxBytes += failed.item.content.payload.count
        } else {
            links[failed.link].needsComparison = true
        }
    }

    /// The checkpoint that `next` returned is stored.
    package mutating func stored() {
        isStoring = false
    }

    package func makeCheckpoint() -> Checkpoint {
        Checkpoint(
            position: cursor,
            origins: origins.map { record in
                Checkpoint.OriginAccounts(
                    origin: record.origin,
                    accounts: Dictionary(
                        uniqueKeysWithValues: record.accounts.map { (names.names[$0.key], $0.value) }))
            },
            values: Dictionary(
                uniqueKeysWithValues: retained.map { name, value in
                    (
                        names.names[name],
                        Checkpoint.Value(
                            version: value.version, position: value.position, origin: origins[value.origin].origin)
                    )
                }),
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
        return origins[origin].accounts[name]
    }

    /// `nil`: the link works, or its peer has not been heard.
    package func trouble(ofLink link: Int) -> LinkTrouble? { links[link].trouble }

    /// The center at the other end; `nil`: the link has no peer.
    package func peer(ofLink link: Int) -> Origin? { links[link].isEstablished ? links[link].peer?.center : nil }

    package func figures(ofLink link: Int) -> LinkFigures { links[link].figures }
}
