// What the relay reads in its center: the stream of notifications, what it has missed, and retained values.

extension RelayCore {
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

    /// The oldest position in the ring, and the next one, now and then. A ring of large payloads holds fewer
    /// notifications than it has slots. A checkpoint must be younger.
    ///
    /// - Parameter end: `nil`: where the relay reads.
    package mutating func ringBegins(at oldest: UInt64, end: UInt64? = nil) {
        reach = oldest == 0 ? slots : min(slots, max((end ?? cursor).reduced(by: oldest), 64))
    }

    /// Everything before this position has been read, or is for no link, or was posted by this relay.
    package mutating func readThrough(_ end: UInt64) {
        guard end > cursor else { return }
        addOwnPosts(before: end)
        cursor = end
        didRead()
    }

    /// True: this relay has posted at this position, and the core has not passed it. The driver need not read it.
    package func isOwnPost(_ position: UInt64) -> Bool {
        ownPosts.first { $0.position >= position }?.position == position
    }

    private mutating func addOwnPosts(before end: UInt64) {
        while let post = ownPosts.first, post.position < end {
            ownPosts.removeFirst()
            cursor = post.position + 1
            add(post)
        }
    }

    private mutating func didRead() {
        index.remove(before: cursor.reduced(by: slots))
        if cursor - storedAt > min(reach / 2, max(reach / 4, UInt64(accounts.count))) { needsCheckpoint = true }
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
        #if !MUTANT_REPLACED_VALUE_KEEPS_VERSION  // Found by: link 2104
            if let posted = ahead[name]?.last?.version, posted < version { return nil }
        #endif
        return version
    }

    /// Invariant V1.
    private func candidate(_ name: Int, date: UInt64, sequence: UInt64, isCleared: Bool) -> Version {
        #if MUTANT_VERSION_BY_CLOCK_ALONE  // Found by: link 107
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
            raiseFloor(origin, record.name, relayed.account)
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
            guard let relayed = record.relayed, relayed.incarnation != own || relayed.isValue,
                originNumber(of: Origin(incarnation: relayed.incarnation)) != nil, let version = relayed.version
            else { continue }
            ahead[record.name, default: []].append((record.position, version))
        }
        indexAgain(records.prefix { $0.position < cursor })
        for record in records { read(record) }
        #if !MUTANT_COUNTS_KNOWN_FROM_BEFORE  // Found by: link 4783
            guard isOutOfReach else { return }
            isOutOfReach = false
            // Invariant C3: peers may know any count up to here from the relay before.
            for number in 0..<accounts.count where accounts.records[number].origin == 0 {
                accounts[number].unsure = accounts[number].count
            }
        #endif
    }

    /// The records before the checkpoint. They are in its accounts, and peers may still ask for them. The relay that
    /// read them missed none in between: what it missed had left the ring then, and is asked for in vain. So counting
    /// back from the accounts gives each its count.
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
        var counts = counts
        // Invariant A3: the relay knows the marks of its own posts.
        while let post = ownPosts.first, post.position < end {
            ownPosts.removeFirst()
            cursor = post.position + 1
            add(post)
            #if !MUTANT_OWN_POSTS_COUNT_AS_LOST  // Found by: link 2
                counts[Int(post.name)] = counts[Int(post.name)]?.reduced(by: 1)
            #endif
        }
        // What was passed without memory, for example, is told when the cursor is there already.
        cursor = max(cursor, end)
        for (name, count) in counts.sorted(by: { $0.key < $1.key })
        where count > 0 && name >= 0 && name < names.count {
            var account = ownAccount(name)
            account.count = min(account.count.adding(count), LinkLimits.number - 1)
            account.sequence = max(account.sequence, end.reduced(by: 1))
            accounts.set(account, origin: 0, name: name)
            // What was lost under a prefix is there alone: the marks that a standby keeps have the names themselves.
            if names.names[name].text.hasSuffix("*") { needsCheckpoint = true }
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
}
