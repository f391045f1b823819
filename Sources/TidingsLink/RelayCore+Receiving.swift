// What arrives from a peer: items, accounts and values.

extension RelayCore {
    /// Items of a round. Invariant S2: an item is taken only if nothing is missing before it.
    mutating func take(_ items: [Item], round: UInt32, after: UInt64, _ link: Int) {
        guard links[link].received != Beat.end, links[link].comparison?.isFirst != true else { return }
        guard round == links[link].round else { return }
        var covered = after
        for item in items {
            guard item.place >= covered else { return }
            #if MUTANT_GAPS_ARE_PASSED_OVER  // Found by: link 84
                let isGap = false
            #else
                let isGap = covered > links[link].received
            #endif
            if isGap {
                noticeGap(link)
                return
            }
            covered = item.place + 1
            if item.place < links[link].received { continue }
            guard links[link].inbox.count < limits.inbox, links[link].inboxBytes < limits.inboxBytes else {
                // Invariant S3: the item comes again, in the round that the empty inbox begins.
                links[link].isOverflown = true
                return
            }
            links[link].inbox.append(item)
            links[link].inboxBytes += item.content.payload.count
            links[link].received = covered
            links[link].gapSince = nil
        }
    }

    /// Takes items out of the inbox up to one that is to be posted.
    mutating func takeFromInbox(_ link: Int) -> Bool {
        guard let item = links[link].inbox.first else { return false }
        links[link].inbox.removeFirst()
        links[link].inboxBytes -= item.content.payload.count
        if let decided = decide(item, link) {
            outstanding = decided
            return true
        }
        didHandle(link)
        return true
    }

    /// `nil`: the item is not posted.
    private mutating func decide(_ item: Item, _ link: Int) -> Outstanding? {
        let mark = item.mark
        guard links[link].configuration.accepts.matches(mark.name), mark.count > mark.base,
            item.content.payload.count <= limits.payload,
            item.version.map({ $0.incarnation == mark.origin.incarnation }) ?? true
        else {
            links[link].figures.refused += 1
            return nil
        }
        // Invariant L1: nothing comes back.
        if mark.origin.incarnation == own { return nil }
        guard let origin = originNumber(of: mark.origin), let name = nameNumber(of: mark.name) else {
            links[link].figures.refused += 1
            return nil
        }
        let group = links[link].group
        origins[origin].knownIn.insert(group)
        // Invariant A4: an unknown account is owed from the sender's base on.
        var account = origins[origin].accounts[name] ?? Account(sequence: 0, count: mark.base, base: mark.base)
        let isKnown = origins[origin].accounts[name] != nil
        #if MUTANT_DUPLICATES_POSTED  // Found by: link 1
            let isOld = false
        #else
            let isOld = isKnown && mark.sequence <= account.sequence
        #endif
        // Invariant O2: another path was faster, and what it brought must not be overtaken.
        var isOvertaken = false
        #if !MUTANT_PATHS_OVERTAKE  // Found by: link 18
            if let top = origins[origin].top[group] {
                isOvertaken = top.link != link && mark.sequence <= top.sequence
            } else {
                isOvertaken = mark.sequence < origins[origin].floor
            }
        #endif
        let isRetained = isNewer(item.version, name: name)
        if isOld || isOvertaken {
            links[link].figures.duplicates += 1
            // The value is needed, and no item will bring it.
            if isRetained { links[link].needsComparison = true }
            return nil
        }
        // Invariant A2: the counts between are lost.
        account.lose(
            through: mark.count - 1, sequence: mark.sequence.reduced(by: 1), isUnsure: account.count < mark.unsure)
        account.count = max(account.count, mark.count)
        account.sequence = mark.sequence
        account.unsure = mark.unsure
        let relayed = Relayed(
            mark: Mark(
                origin: origins[origin].origin, name: mark.name, sequence: mark.sequence, count: account.count,
                base: account.base, unsure: mark.unsure),
            version: isRetained ? item.version : nil, lost: account.lost, lostUnsure: account.lostUnsure,
            isValue: false)
        let post = Post(
            name: mark.name, content: item.content, relayed: relayed, isRetained: isRetained,
            isCleared: item.isCleared)
        return Outstanding(
            link: link, post: post, origin: origin, name: name, account: account, item: item)
    }

    // MARK: - Comparisons

    /// A part of the peer's accounts.
    mutating func take(_ accounts: Accounts, _ link: Int) {
        guard let comparison = links[link].comparison, accounts.number == links[link].number,
            comparison.askedAt != nil, comparison.wanted.isEmpty
        else { return }
        // Invariant A5: an account is ahead by losses alone once everything that was sent has been handled.
        #if !MUTANT_COMPARED_TOO_EARLY  // Found by: link 7
            if !comparison.isFirst {
                guard accounts.settledRound == links[link].round, links[link].handled >= accounts.place,
                    outstanding == nil
                else { return }
            }
        #endif
        links[link].comparison?.askedAt = nil
        links[link].comparison?.tries = 0
        if comparison.generation == nil {
            links[link].comparison?.generation = accounts.generation
            links[link].comparison?.place = accounts.place
        }
        for state in accounts.states { compare(state, link) }
        links[link].comparison?.isLast = accounts.next == nil
        links[link].comparison?.next = accounts.next
        goOnComparing(link)
    }

    private mutating func compare(_ state: AccountState, _ link: Int) {
        let mark = state.mark
        guard links[link].configuration.accepts.matches(mark.name), mark.count >= mark.base,
            state.version.map({ $0.incarnation == mark.origin.incarnation }) ?? true,
            let origin = originNumber(of: mark.origin), let name = nameNumber(of: mark.name)
        else {
            links[link].figures.refused += 1
            return
        }
        let isFirst = links[link].comparison?.isFirst == true
        if mark.origin.incarnation != own {
            if var account = origins[origin].accounts[name] {
                if mark.count > account.count {
                    if isFirst && !links[link].isUncertain {
                        links[link].comparison?.isBehind = true
                    } else {
                        account.lose(
                            through: mark.count, sequence: mark.sequence,
                            isUnsure: isFirst || account.count < mark.unsure)
                        account.unsure = max(account.unsure, mark.unsure)
                        setAccount(account, origin: origin, name: name)
                        generation += 1
                    }
                } else if mark.count == account.count, mark.sequence > account.sequence {
                    // No notification, but a clear that left the origin's ring before it was read.
                    account.sequence = mark.sequence
                    setAccount(account, origin: origin, name: name)
                    generation += 1
                }
            } else if isFirst {
                let isOwed = origins[origin].knownIn.contains(links[link].group)
                if isOwed && !links[link].isUncertain {
                    links[link].comparison?.isBehind = true
                } else if isOwed {
                    var account = Account(sequence: 0, count: mark.base, base: mark.base, unsure: mark.unsure)
                    account.lose(through: mark.count, sequence: mark.sequence, isUnsure: true)
                    setAccount(account, origin: origin, name: name)
                } else {
                    setAccount(
                        Account(sequence: mark.sequence, count: mark.count, base: mark.count, unsure: mark.unsure),
                        origin: origin, name: name)
                }
            } else {
                var account = Account(sequence: 0, count: mark.base, base: mark.base, unsure: mark.unsure)
                account.lose(through: mark.count, sequence: mark.sequence, isUnsure: mark.base < mark.unsure)
                account.sequence = max(account.sequence, mark.sequence)
                setAccount(account, origin: origin, name: name)
                generation += 1
            }
            if !isFirst { origins[origin].knownIn.insert(links[link].group) }
        }
        if let version = state.version, isNewer(version, name: name) {
            links[link].comparison?.wanted[mark.name] = version
        }
    }

    /// Continues once no value is wanted.
    mutating func goOnComparing(_ link: Int) {
        guard let comparison = links[link].comparison else { return }
        for (text, version) in comparison.wanted {
            guard let name = names.number(of: text), isNewer(version, name: name) else {
                links[link].comparison?.wanted[text] = nil
                continue
            }
        }
        guard links[link].comparison?.wanted.isEmpty == true, comparison.askedAt == nil else { return }
        if !comparison.isLast {
            links[link].comparison?.after = comparison.next
            return
        }
        links[link].comparedGeneration = comparison.generation ?? 0
        links[link].comparison = nil
        links[link].compareAt = now + limits.repeatAfter
        guard comparison.isFirst else { return }
        // Invariant C2: where the link begins is stored before the first item is taken.
        links[link].received = comparison.isBehind ? 0 : min(comparison.place, LinkLimits.number)
        links[link].handled = links[link].received
        didHandle(link)
        links[link].isUncertain = false
        // The other links have peers that do not know these accounts.
        generation += 1
        allOriginsAreKnown(link)
        links[link].beginRound()
        links[link].needsComparison = true
        #if !MUTANT_BEGINNING_NOT_STORED  // Found by: link 2
            needsCheckpoint = true
        #endif
    }

    /// From now on, accounts of these origins that are new here are owed from their base on.
    mutating func allOriginsAreKnown(_ link: Int) {
        for origin in origins.indices where origin > 0 { origins[origin].knownIn.insert(links[link].group) }
    }

    /// A retained value that this relay has asked for.
    mutating func takeValue(_ item: Item, number: UInt32, _ link: Int) {
        guard let wanted = links[link].comparison?.wanted[item.mark.name], let version = item.version,
            version >= wanted, version.incarnation == item.mark.origin.incarnation,
            item.content.payload.count <= limits.payload,
            links[link].comparison?.answers.contains(where: { $0.mark.name == item.mark.name }) == false
        else { return }
        links[link].comparison?.answers.append(item)
    }

    /// Posts one of the values that have arrived.
    mutating func takeAnswer(_ link: Int) -> Bool {
        guard let item = links[link].comparison?.answers.first else { return false }
        links[link].comparison?.answers.removeFirst()
        links[link].comparison?.wanted[item.mark.name] = nil
        if links[link].comparison?.wanted.isEmpty == true { links[link].comparison?.askedAt = nil }
        defer { goOnComparing(link) }
        guard let version = item.version, let name = names.number(of: item.mark.name),
            let origin = originNumber(of: item.mark.origin)
        else { return true }
        #if !MUTANT_OLDER_VALUE_POSTED  // Found by: link 1
            guard isNewer(version, name: name) else { return true }
        #endif
        let account = origins[origin].accounts[name]
        // Invariant V3: an item may still bring it, and it must not arrive twice.
        #if !MUTANT_VALUE_BEFORE_ITS_ITEM  // Found by: link 17
            if origin != 0 {
                guard let account, version.sequence <= account.sequence else {
                    links[link].needsComparison = true
                    return true
                }
            }
        #endif
        // The account as it is: after a restart, no item brings what the value stands for (invariant C1).
        let mark = Mark(
            origin: origins[origin].origin, name: item.mark.name, sequence: account?.sequence ?? version.sequence,
            count: account?.count ?? 0, base: account?.base ?? 0, unsure: account?.unsure ?? 0)
        let post = Post(
            name: item.mark.name, content: item.content,
            relayed: Relayed(
                mark: mark, version: version, lost: account?.lost ?? 0, lostUnsure: account?.lostUnsure ?? 0,
                isValue: true),
            isRetained: true, isCleared: version.isCleared)
        outstanding = Outstanding(
            link: link, post: post, origin: origin, name: name, account: nil, item: item)
        return true
    }
}
