// What arrives from a peer: items, accounts and values.

extension RelayCore {
    /// Items of a round. Invariant S2: an item is taken only if nothing is missing before it.
    mutating func take(_ frame: ItemFrame, _ link: Int) {
        guard links[link].received != Beat.end, links[link].comparison?.isFirst != true else { return }
        let received = links[link].received
        guard frame.round == links[link].round else { return }
        links[link].isRoundHeard = true
        guard let last = frame.items.last, last.place >= received else { return }
        #if !MUTANT_GAPS_ARE_PASSED_OVER  // Found by: link 117
            if frame.after > received {
                noticeGap(link)
                return
            }
        #endif
        var start = 0
        while frame.items[start].place < received { start += 1 }
        // Invariant S3: the items come again, in the round that the empty inbox begins.
        let room = links[link].inboxBytes < limits.inboxBytes ? max(0, limits.inbox - links[link].inboxCount) : 0
        let count = min(frame.items.count - start, room)
        if start + count < frame.items.count { links[link].isOverflown = true }
        guard count > 0 else { return }
        links[link].inbox.append(Link.InboxFrame(frame: frame, end: start + count, from: received))
        links[link].inboxCount += count
        links[link].inboxBytes += frame.bytes.count
        links[link].received = frame.items[start + count - 1].place + 1
        links[link].gapSince = nil
    }

    /// Decides about items of the inbox, up to one that is to be posted. It stays in the inbox until it is posted.
    @inline(__always)
    mutating func takeFromInbox(_ link: Int) -> Post? {
        while let (item, from) = links[link].firstItem() {
            if item.definition >= 0 {
                define(item, link)
                #if !MUTANT_ORIGIN_NOT_STORED  // Found by: link 4
                    if needsCheckpoint { return nil }
                #endif
            }
            if item.place < from {
                links[link].removeFromInbox(limits, isCounted: false)
            } else if let post = decide(item, link) {
                return post
            } else {
                links[link].removeFromInbox(limits, isCounted: true)
                links[link].didHandle()
            }
        }
        return nil
    }

    /// What the items of this slot are about from here on.
    private mutating func define(_ item: FramedItem, _ link: Int) {
        let number = Int(item.slot)
        let definition = links[link].inbox.withFirst { $0.frame.definitions[Int(item.definition)] }
        var slot = Link.ReceivedSlot(base: definition.base, unsure: definition.unsure)
        #if MUTANT_DEFINED_NAME_UNCHECKED  // Found by: fuzz link
            let isAccepted =
                isMutant("DEFINED_NAME_UNCHECKED") || links[link].configuration.accepts.matches(definition.name)
        #else
            let isAccepted = links[link].configuration.accepts.matches(definition.name)
        #endif
        if isAccepted, let origin = originNumber(of: definition.origin, link),
            let name = nameNumber(of: definition.name, link)
        {
            slot.origin = origin
            slot.name = name
            slot.account = accounts.number(origin: origin, name: name) ?? -1
        }
        while links[link].table.count <= number { links[link].table.append(Link.ReceivedSlot()) }
        links[link].table[number] = slot
    }

    /// Bytes of a payload that the peer may send.
    @inline(__always)
    func payloadLimit(of link: Int) -> Int {
        #if MUTANT_PAYLOAD_LIMIT_IGNORED  // Found by: link 3
            limits.payload
        #else
            min(limits.payload, links[link].configuration.payload)
        #endif
    }

    /// `nil`: the item is not posted.
    @inline(__always)
    private mutating func decide(_ item: FramedItem, _ link: Int) -> Post? {
        var (slot, group, isRetaining) = links[link].meaning(Int(item.slot))
        guard slot.name >= 0 else {
            links[link].figures.refused += 1
            return nil
        }
        // Invariant L1: nothing comes back.
        if slot.origin == 0 { return nil }
        guard item.count > slot.base, Int(item.payloadCount) <= payloadLimit(of: link) else {
            links[link].figures.refused += 1
            return nil
        }
        if slot.account < 0, let account = accounts.number(origin: slot.origin, name: slot.name) {
            slot.account = account
            links[link].table[Int(item.slot)].account = account
        }
        // Many slots can be defined while there is room for one account (invariant T3).
        #if MUTANT_ACCOUNTS_UNCHECKED  // Found by: fuzz link
            let most = isMutant("ACCOUNTS_UNCHECKED") ? Int.max : limits.accounts
        #else
            let most = limits.accounts
        #endif
        guard slot.account >= 0 || accounts.count < most else {
            links[link].figures.refused += 1
            return nil
        }
        if !origins[slot.origin].isKnown(in: group) { origins[slot.origin].setKnown(in: group) }
        // Invariant A4: an unknown account is owed from the sender's base on.
        var account =
            slot.account >= 0 ? accounts[slot.account] : Account(sequence: 0, count: slot.base, base: slot.base)
        #if MUTANT_DUPLICATES_POSTED  // Found by: link 1
            let isOld = false
        #else
            let isOld = slot.account >= 0 && item.sequence <= account.sequence
        #endif
        // Invariant O2: another path was faster, and what it brought must not be overtaken.
        var isOvertaken = false
        #if !MUTANT_PATHS_OVERTAKE  // Found by: link 5
            if let top = origins[slot.origin].top(group) {
                isOvertaken = top.link != link && item.sequence <= top.sequence
            }
        #endif
        let incarnation = origins[slot.origin].origin.incarnation
        var version: Version?
        if item.hasVersion, isRetaining {
            version = Version(
                date: item.date, incarnation: incarnation, sequence: item.sequence, isCleared: item.isCleared)
        }
        let isRetained = isNewer(version, name: slot.name)
        if isOld || isOvertaken {
            links[link].figures.duplicates += 1
            // The value is needed, and no item will bring it.
            if isRetained { links[link].needsComparison = true }
            return nil
        }
        // Invariant A2: the counts between are lost.
        account.lose(
            through: item.count - 1, sequence: item.sequence.reduced(by: 1), isUnsure: account.count < slot.unsure,
            at: cursor)
        account.count = max(account.count, item.count)
        account.sequence = item.sequence
        account.unsure = slot.unsure
        let post = Post(
            name: slot.name, content: links[link].inbox.withFirst { $0.frame.content(of: item) },
            relayed: Relayed(account, of: incarnation, version: isRetained ? version : nil, isValue: false),
            isRetained: isRetained, isCleared: item.isCleared)
        return self.post(post, link: link, origin: slot.origin, account: slot.account, isItem: true)
    }

    // MARK: - Comparisons

    /// A part of the peer's accounts.
    mutating func take(_ accounts: Accounts, _ link: Int) {
        guard let comparison = links[link].comparison, accounts.number == links[link].number,
            comparison.askedAt != nil, comparison.wanted.isEmpty, comparison.pending == nil
        else { return }
        links[link].comparison?.pending = accounts
        links[link].pendingPlace = comparison.isFirst ? 0 : accounts.place
        #if MUTANT_COMPARISON_NEEDS_PAUSE  // Found by: link 4
            if !comparison.isFirst, links[link].handled < accounts.place {
                links[link].comparison?.pending = nil
                links[link].pendingPlace = .max
                return
            }
        #endif
        // Invariant A5: an account is ahead by losses alone once everything before the answer's place has been handled.
        #if MUTANT_COMPARED_TOO_EARLY  // Found by: link 13
            links[link].pendingPlace = 0
        #endif
        if links[link].pendingPlace <= links[link].handled { applyPending(link) }
    }

    /// The answer holds for what has been handled.
    mutating func applyPending(_ link: Int) {
        links[link].pendingPlace = .max
        guard let comparison = links[link].comparison, let accounts = comparison.pending else { return }
        links[link].comparison?.pending = nil
        links[link].comparison?.askedAt = nil
        links[link].comparison?.tries = 0
        if comparison.generation == nil {
            links[link].comparison?.generation = accounts.generation
            links[link].comparison?.place = accounts.place
        }
        for state in accounts.states { compare(state, link) }
        links[link].comparison?.isLast = accounts.next == 0
        links[link].comparison?.next = accounts.next
        goOnComparing(link)
    }

    private mutating func compare(_ state: AccountState, _ link: Int) {
        let mark = state.mark
        guard links[link].configuration.accepts.matches(mark.name), mark.count >= mark.base,
            state.version.map({ $0.incarnation == mark.origin.incarnation }) ?? true,
            let origin = originNumber(of: mark.origin, link), let name = nameNumber(of: mark.name, link),
            accounts.count < limits.accounts || accounts[origin, name] != nil
        else {
            links[link].figures.refused += 1
            return
        }
        let isFirst = links[link].comparison?.isFirst == true
        if mark.origin.incarnation != own {
            if var account = accounts[origin, name] {
                if mark.count > account.count {
                    if isFirst && !links[link].isUncertain {
                        links[link].comparison?.isBehind = true
                    } else {
                        account.lose(
                            through: mark.count, sequence: mark.sequence,
                            isUnsure: isFirst || account.count < mark.unsure, at: cursor)
                        account.unsure = max(account.unsure, mark.unsure)
                        accounts.set(account, origin: origin, name: name)
                        generation += 1
                    }
                } else if mark.count == account.count, mark.sequence > account.sequence {
                    // No notification, but a clear that left the origin's ring before it was read.
                    account.sequence = mark.sequence
                    accounts.set(account, origin: origin, name: name)
                    generation += 1
                }
            } else if isFirst {
                // A relay that was away for too long may have missed the beginning of the account.
                let isOwed =
                    origins[origin].isKnown(in: links[link].group)
                    || links[link].isUncertain && origins[origin].isStored
                if isOwed && !links[link].isUncertain {
                    links[link].comparison?.isBehind = true
                } else if isOwed {
                    var account = Account(sequence: 0, count: mark.base, base: mark.base, unsure: mark.unsure)
                    account.lose(through: mark.count, sequence: mark.sequence, isUnsure: true, at: cursor)
                    accounts.set(account, origin: origin, name: name)
                } else {
                    accounts.set(
                        Account(sequence: mark.sequence, count: mark.count, base: mark.count, unsure: mark.unsure),
                        origin: origin, name: name)
                }
            } else {
                var account = Account(sequence: 0, count: mark.base, base: mark.base, unsure: mark.unsure)
                account.lose(
                    through: mark.count, sequence: mark.sequence, isUnsure: mark.base < mark.unsure, at: cursor)
                account.sequence = max(account.sequence, mark.sequence)
                accounts.set(account, origin: origin, name: name)
                generation += 1
            }
            if !isFirst { origins[origin].setKnown(in: links[link].group) }
        }
        if let version = state.version, links[link].configuration.retained, isNewer(version, name: name) {
            links[link].comparison?.wanted[name] = version
        }
    }

    /// Forgets wanted values that items have brought meanwhile.
    mutating func dropWanted(_ link: Int) {
        guard let wanted = links[link].comparison?.wanted else { return }
        let left = wanted.filter { isNewer($0.value, name: $0.key) }
        links[link].comparison?.wanted = left
    }

    /// Continues once no value is wanted.
    mutating func goOnComparing(_ link: Int) {
        guard let comparison = links[link].comparison, comparison.wanted.isEmpty, links[link].answers.isEmpty,
            comparison.askedAt == nil
        else { return }
        if !comparison.isLast {
            links[link].comparison?.from = comparison.next
            return
        }
        links[link].comparedGeneration = comparison.generation ?? 0
        links[link].comparison = nil
        links[link].compareAt = now + limits.compare
        guard comparison.isFirst else { return }
        // Invariant C2: where the link begins is stored before the first item is taken.
        links[link].received = comparison.isBehind ? 0 : min(comparison.place, LinkLimits.number)
        links[link].handled = links[link].received
        links[link].didHandle()
        links[link].isUncertain = false
        // The other links have peers that do not know these accounts.
        generation += 1
        allOriginsAreKnown(link)
        links[link].beginRound()
        links[link].needsComparison = true
        #if !MUTANT_BEGINNING_NOT_STORED  // Found by: link 7
            needsCheckpoint = true
        #endif
    }

    /// From now on, accounts of these origins that are new here are owed from their base on.
    mutating func allOriginsAreKnown(_ link: Int) {
        for origin in origins.indices where origin > 0 { origins[origin].setKnown(in: links[link].group) }
    }

    /// A retained value that this relay has asked for, perhaps a while ago. V3 and V4 decide when it is taken.
    mutating func takeValue(_ item: Item, _ link: Int) {
        guard let name = names.number(of: item.mark.name), let version = item.version,
            version.incarnation == item.mark.origin.incarnation,
            links[link].configuration.accepts.matches(item.mark.name), links[link].configuration.retained,
            isNewer(version, name: name),
            // Beyond, the value is asked for again.
            item.content.payloadCount <= payloadLimit(of: link), links[link].answerBytes < limits.inboxBytes
        else { return }
        links[link].answers.append(item)
        links[link].answerBytes += item.content.payloadCount + Self.valueOverhead
        guard let wanted = links[link].comparison?.wanted[name], version >= wanted else { return }
        links[link].comparison?.wanted[name] = nil
        // The peer is sending: no question is repeated meanwhile.
        links[link].comparison?.askedAt = now
        links[link].comparison?.tries = 0
        links[link].comparison?.hasProgress = true
    }

    /// Bytes of a waiting value beside its payload, about.
    private static let valueOverhead = 512

    /// The peer has sent the values that it has. The others are asked for once more, and then later.
    mutating func allWereSent(_ number: UInt32, _ link: Int) {
        guard let comparison = links[link].comparison, number == links[link].number, comparison.pending == nil,
            comparison.askedAt != nil, !comparison.wanted.isEmpty
        else { return }
        if comparison.hasProgress {
            links[link].comparison?.askedAt = nil
        } else {
            giveUpWanted(link)
        }
    }

    /// The peer has other versions by now, or they are too large for this center: compares later.
    mutating func giveUpWanted(_ link: Int) {
        links[link].comparison?.wanted = [:]
        links[link].comparison?.askedAt = nil
        links[link].comparison?.tries = 0
        links[link].compareAgainAt = min(links[link].compareAgainAt, now + limits.giveUp)
        goOnComparing(link)
    }

    /// Decides about one of the values that have arrived.
    mutating func takeAnswer(_ link: Int) -> Post? {
        guard let item = links[link].answers.first else { return nil }
        let (number, known) = (originNumber(of: item.mark.origin, link), names.number(of: item.mark.name))
        if needsCheckpoint { return nil }
        links[link].answers.removeFirst()
        links[link].answerBytes -= item.content.payloadCount + Self.valueOverhead
        if links[link].comparison?.wanted.isEmpty == true { links[link].comparison?.askedAt = nil }
        defer { goOnComparing(link) }
        guard let version = item.version, let name = known, let origin = number else { return nil }
        #if !MUTANT_OLDER_VALUE_POSTED  // Found by: link 4
            guard isNewer(version, name: name) else { return nil }
        #endif
        let account = accounts[origin, name]
        // Invariant V3: an item may still bring it, and it must not arrive twice.
        #if !MUTANT_VALUE_BEFORE_ITS_ITEM  // Found by: link 32
            if origin != 0 {
                guard let account, version.sequence <= account.sequence else {
                    links[link].needsComparison = true
                    return nil
                }
            }
        #endif
        // The account as it is: after a restart, no item brings what the value stands for (invariant C1).
        let post = Post(
            name: name, content: item.content,
            relayed: Relayed(
                account ?? Account(sequence: version.sequence, count: 0, base: 0),
                of: origins[origin].origin.incarnation, version: version, isValue: true),
            isRetained: true, isCleared: version.isCleared)
        return self.post(post, link: link, origin: origin, account: -1, isItem: false)
    }
}
