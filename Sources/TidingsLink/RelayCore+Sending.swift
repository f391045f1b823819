// What the core asks its driver to do next. Control frames go before posts, and posts before items.

extension RelayCore {
    /// The next output; `nil`: nothing until the next input, or the time of `deadline`.
    package mutating func next(_ ring: some RingReading) -> Output? {
        if isStoring { return nil }
        if needsCheckpoint { return .store(takeCheckpoint()) }
        // Items that are not posted end in a beat, too.
        var isChanged = true
        while isChanged {
            for link in links.indices where links[link].isConnected {
                if let body = control(link, ring) { return .send(link: link, frame(body, link)) }
            }
            isChanged = takeNext()
            if let outstanding { return .post(outstanding.post) }
        }
        for link in links.indices where links[link].isEstablished && links[link].isWritable {
            if let body = items(link, ring) { return .send(link: link, frame(body, link)) }
        }
        return nil
    }

    /// When `next` may return something without a further input; `nil`: never. In the milliseconds of `advance`.
    package var deadline: UInt64? {
        links.lazy.filter(\.isConnected).map { link in
            var earliest = min(link.greetAt, link.heardAt + self.limits.silence + 1)
            guard link.isEstablished else { return earliest }
            earliest = min(earliest, link.beatAt)
            if let since = link.gapSince { earliest = min(earliest, since + self.limits.repeatAfter) }
            if let comparison = link.comparison {
                earliest = min(earliest, comparison.askedAt.map { $0 + self.limits.repeatAfter } ?? 0)
            } else if link.needsComparison || link.peerGeneration != link.comparedGeneration {
                earliest = min(earliest, link.compareAt)
            }
            return earliest
        }.min()
    }

    private func frame(_ body: Frame.Body, _ link: Int) -> Frame {
        Frame(session: links[link].session, to: links[link].peerSession, body: body)
    }

    // MARK: - Control frames

    private mutating func control(_ link: Int, _ ring: some RingReading) -> Frame.Body? {
        if links[link].greetAt <= now {
            links[link].greetAt = links[link].isEstablished ? .max : now + limits.repeatAfter
            let configuration = links[link].configuration
            return .greeting(
                Greeting(
                    link: configuration.name, center: origins[0].origin, sends: configuration.sends,
                    accepts: configuration.accepts))
        }
        guard links[link].isEstablished else { return nil }
        if let since = links[link].gapSince, now >= since + limits.repeatAfter {
            links[link].figures.repairs += 1
            links[link].beginRound()
        }
        if links[link].isOverflown, links[link].inbox.isEmpty { links[link].beginRound() }
        if links[link].beatAt <= now {
            links[link].beatAt = now + limits.beat
            return .beat(beat(link))
        }
        if let question = links[link].question {
            links[link].question = nil
            return .accounts(answer(question, link))
        }
        if let pulled = links[link].pulled {
            if let body = value(pulled, link, ring) { return body }
        }
        return ask(link)
    }

    private mutating func ask(_ link: Int) -> Frame.Body? {
        if links[link].comparison == nil {
            let isDue = links[link].needsComparison || links[link].peerGeneration != links[link].comparedGeneration
            guard isDue, links[link].compareAt <= now else { return nil }
            links[link].needsComparison = false
            links[link].comparison = Link.Comparison(isFirst: false)
        }
        guard let comparison = links[link].comparison, comparison.answers.isEmpty else { return nil }
        if let askedAt = comparison.askedAt, now < askedAt + limits.repeatAfter { return nil }
        links[link].comparison?.askedAt = now
        links[link].comparison?.tries += 1
        if comparison.wanted.isEmpty {
            return .ask(number: links[link].nextNumber(), isFirst: comparison.isFirst, after: comparison.after)
        }
        if comparison.tries > 3 {
            // The peer has another version by now: a later comparison finds it.
            links[link].comparison?.wanted = [:]
            links[link].comparison?.askedAt = nil
            links[link].comparison?.tries = 0
            links[link].needsComparison = true
            goOnComparing(link)
            return nil
        }
        return .pull(number: links[link].nextNumber(), names: Array(comparison.wanted.keys.prefix(limits.chunk)))
    }

    private mutating func keys() -> [AccountKey] {
        if let sortedKeys { return sortedKeys }
        let keys = origins.flatMap { record in
            record.accounts.keys.map { AccountKey(incarnation: record.origin.incarnation, name: names.names[$0]) }
        }.sorted()
        sortedKeys = keys
        return keys
    }

    private func isSent(_ name: LinkName, on link: Int) -> Bool {
        links[link].configuration.sends.matches(name) && links[link].peer?.accepts.matches(name) == true
    }

    private mutating func answer(_ question: (number: UInt32, isFirst: Bool, after: AccountKey?), _ link: Int)
        -> Accounts
    {
        let keys = keys()
        var states: [AccountState] = []
        var next: AccountKey?
        var (low, high) = (0, keys.count)
        if let after = question.after {
            while low < high {
                let middle = (low + high) / 2
                if keys[middle] > after { high = middle } else { low = middle + 1 }
            }
        }
        for (at, key) in keys[low...].enumerated() {
            if states.count >= limits.chunk || at >= 8 * limits.chunk {
                next = keys[low + at - 1]
                break
            }
            guard let origin = originNumbers[key.incarnation], let name = names.number(of: key.name),
                let account = origins[origin].accounts[name], isSent(key.name, on: link)
            else { continue }
            let value = retained[name]
            states.append(
                AccountState(
                    mark: Mark(
                        origin: origins[origin].origin, name: key.name, sequence: account.sequence,
                        count: account.count, base: account.base, unsure: account.unsure),
                    version: value?.origin == origin ? value?.version : nil))
        }
        // Accounts may count posts that this relay has not read again: those are not sent yet.
        let isSettled = links[link].scanned == cursor && ownPosts.isEmpty && outstanding == nil
        return Accounts(
            number: question.number, states: states, next: next,
            place: question.isFirst ? cursor : links[link].tail,
            settledRound: isSettled ? links[link].peerRound : 0, generation: generation &+ links[link].generation)
    }

    /// The value of the first name that was asked for, if this center still has the version that its relay knows.
    private mutating func value(
        _ pulled: (number: UInt32, names: [LinkName]), _ link: Int, _ ring: some RingReading
    ) -> Frame.Body? {
        var left = pulled.names[...]
        defer { links[link].pulled = left.isEmpty ? nil : (pulled.number, Array(left)) }
        while let text = left.popFirst() {
            guard isSent(text, on: link), let name = names.number(of: text), let known = retained[name] else {
                continue
            }
            var content = Content()
            if !known.version.isCleared {
                guard let value = ring.value(of: text), value.position == known.position else { continue }
                content = value.content
            }
            let account = origins[known.origin].accounts[name]
            return .value(
                number: pulled.number,
                Item(
                    place: 0,
                    mark: Mark(
                        origin: origins[known.origin].origin, name: text, sequence: known.version.sequence,
                        count: account?.count ?? 0, base: 0),
                    version: known.version, isCleared: known.version.isCleared, content: content))
        }
        return nil
    }

    // MARK: - Posts

    /// Takes one value or item of each link, until one is to be posted. False: there was none.
    private mutating func takeNext() -> Bool {
        var isChanged = false
        for link in links.indices where outstanding == nil {
            if takeAnswer(link) {
                isChanged = true
            } else if links[link].comparison?.isFirst != true, takeFromInbox(link) {
                isChanged = true
                // Acknowledges a half of the window at a time, and the end of the inbox.
                if links[link].inbox.isEmpty || links[link].inbox.count % max(1, limits.window / 2) == 0 {
                    links[link].beatAt = 0
                }
            }
        }
        return isChanged
    }

    // MARK: - Items

    /// The next items of a link, read in the ring: no queue holds them.
    private mutating func items(_ link: Int, _ ring: some RingReading) -> Frame.Body? {
        guard links[link].peerRound != 0, links[link].scanned < cursor else { return nil }
        if let removed = index.removedThrough, links[link].scanned <= removed {
            // The ring has gone round: what was lost shows in the counts, and in a comparison.
            #if !MUTANT_LINK_LOSSES_UNNOTICED  // Found by: link 2701
                links[link].generation += 1
            #endif
            links[link].scanned = removed + 1
        }
        let after = links[link].tail
        var items: [Item] = []
        var bytes = 0
        for record in index.from(links[link].scanned) {
            guard links[link].unhandled.count < limits.window, items.count < limits.batch, bytes < limits.batchBytes
            else { break }
            links[link].scanned = record.position + 1
            let text = names.names[record.name]
            let peer = links[link].peer?.center.incarnation
            guard record.link != link, origins[record.origin].origin.incarnation != peer else { continue }
            guard isSent(text, on: link), let account = origins[record.origin].accounts[record.name]
            else { continue }
            guard let content = ring.content(at: record.position) else {
                #if !MUTANT_LINK_LOSSES_UNNOTICED
                    links[link].generation += 1
                #endif
                continue
            }
            // The greeting has described this center.
            var origin = origins[record.origin].origin
            if record.origin == 0 || !links[link].described.insert(record.origin).inserted {
                origin = Origin(incarnation: origin.incarnation)
            }
            items.append(
                Item(
                    place: record.position,
                    mark: Mark(
                        origin: origin, name: text, sequence: record.sequence,
                        count: record.count, base: account.base, unsure: account.unsure),
                    version: record.version, isCleared: record.isCleared, content: content))
            bytes += content.payload.count
            links[link].tail = record.position + 1
            links[link].unhandled.append(record.position)
        }
        if index.from(links[link].scanned).isEmpty { links[link].scanned = cursor }
        guard !items.isEmpty else { return nil }
        links[link].figures.sent += UInt64(items.count)
        return .items(round: links[link].peerRound, after: after, items)
    }
}
