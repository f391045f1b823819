// What the core asks its driver to do next. Control frames go before posts, and posts before items.

extension RelayCore {
    /// The next output; `nil`: nothing until the next input, or the time of `deadline`.
    package mutating func next(_ ring: some RingReading) -> Output? {
        if !events.isEmpty { return .dialog(nextEvent()) }
        if isStoring { return nil }
        if needsCheckpoint, storeHeldUntil <= now { return .store(takeCheckpoint()) }
        // Many posts must not hold back what this center sends.
        if postsInRow >= limits.turn {
            postsInRow = 0
            if let output = bulk(ring) { return output }
        }
        // Items that are not posted end in a beat, too.
        var isChanged = true
        while isChanged {
            for step in 0..<links.count {
                let link = linkInTurn(step)
                if links[link].isControlDue(now, limits, generation: generation), let body = control(link) {
                    turn = link + 1
                    return .send(link: link, frame(body, link))
                }
                if links[link].isDialogDue(now, limits) {
                    turn = link + 1
                    let isWritable = links[link].isWritable
                    return .send(
                        link: link,
                        frame(.dialog(links[link].dialog.frame(now, limits, isWritable: isWritable)), link))
                }
            }
            isChanged = false
            // What is posted may be of an origin that the checkpoint must have.
            for step in 0..<links.count where !needsCheckpoint {
                let link = linkInTurn(step)
                guard links[link].hasWork(now) else { continue }
                isChanged = true
                if let post = links[link].hasAnswers() ? takeAnswer(link) : takeFromInbox(link) {
                    turn = link + 1
                    postsInRow += 1
                    return .post(post)
                }
            }
            // An origin that is new: it is stored before its first notification is posted.
            if needsCheckpoint, storeHeldUntil <= now { return .store(takeCheckpoint()) }
        }
        postsInRow = 0
        return bulk(ring)
    }

    /// The links have turns: each output begins at the link after the one that was served last.
    private func linkInTurn(_ step: Int) -> Int {
        let link = turn + step
        return link < links.count ? link : link % links.count
    }

    /// Items and values, by turns.
    private mutating func bulk(_ ring: some RingReading) -> Output? {
        for step in 0..<links.count {
            let link = linkInTurn(step)
            guard links[link].isEstablished, links[link].isWritable else { continue }
            links[link].isValueNext.toggle()
            for isValue in [links[link].isValueNext, !links[link].isValueNext] {
                var body: Frame.Body?
                if isValue, links[link].pulled != nil {
                    body = value(link, ring)
                } else if !isValue, links[link].isSending() {
                    body = items(link, ring).map { .items($0) }
                }
                guard let body else { continue }
                turn = link + 1
                return .send(link: link, frame(body, link))
            }
        }
        return nil
    }

    /// When `next` may return something without a further input; `nil`: never. In the milliseconds of `advance`.
    package var deadline: UInt64? {
        var ofLinks = deadlineOfLinks
        for link in links where !link.view.participants.isEmpty {
            ofLinks = min(ofLinks ?? .max, link.view.heardAt + limits.silence + 1)
        }
        guard needsCheckpoint, storeHeldUntil > now else { return ofLinks }
        return min(ofLinks ?? .max, storeHeldUntil)
    }

    private var deadlineOfLinks: UInt64? {
        return links.lazy.filter(\.isConnected).map { link in
            var earliest = min(link.greetAt, link.heardAt + self.limits.silence + 1)
            guard link.isEstablished else { return earliest }
            earliest = min(
                earliest, link.beatAt, link.acknowledgeAt, link.compareAgainAt,
                link.dialog.deadline(self.limits, isWritable: link.isWritable))
            if link.postsHeldUntil > self.now, !link.inbox.isEmpty || !link.answers.isEmpty {
                earliest = min(earliest, link.postsHeldUntil)
            }
            if !link.isRoundHeard { earliest = min(earliest, link.beatSentAt + self.limits.repeatAfter) }
            if self.generation &+ link.generation != link.toldGeneration {
                earliest = min(earliest, link.beatSentAt + self.limits.compare)
            }
            if let since = link.gapSince { earliest = min(earliest, since + self.limits.repeatAfter) }
            if let comparison = link.comparison {
                if comparison.pending == nil, link.answers.isEmpty {
                    earliest = min(
                        earliest, comparison.askedAt.map { $0 + self.limits.wait(afterTry: comparison.tries) } ?? 0)
                }
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

    private mutating func control(_ link: Int) -> Frame.Body? {
        if links[link].greetAt <= now {
            links[link].greetAt = links[link].isEstablished ? .max : now + limits.repeatAfter
            let configuration = links[link].configuration
            return .greeting(
                Greeting(
                    link: configuration.name, center: origins[0].origin, payload: UInt64(payloadLimit(of: link)),
                    sends: configuration.sends, accepts: configuration.accepts))
        }
        guard links[link].isEstablished else { return nil }
        if let since = links[link].gapSince, now >= since + limits.repeatAfter {
            links[link].figures.repairs += 1
            links[link].beginRound()
        }
        if links[link].isOverflown, links[link].inbox.isEmpty { links[link].beginRound() }
        if links[link].isBeatDue(now, limits, generation: generation) {
            links[link].beatAt = now + limits.beat
            links[link].beatSentAt = now
            links[link].acknowledgeAt = .max
            links[link].toldGeneration = generation(of: link)
            links[link].newlyHandled = 0
            links[link].newlyHandledBytes = 0
            return .beat(beat(link))
        }
        if links[link].pendingPlace <= links[link].handled { applyPending(link) }
        if let question = links[link].question {
            links[link].question = nil
            return .accounts(answer(question, link))
        }
        return ask(link)
    }

    private mutating func ask(_ link: Int) -> Frame.Body? {
        if links[link].compareAgainAt <= now {
            links[link].compareAgainAt = .max
            links[link].needsComparison = true
        }
        if links[link].comparison == nil {
            let isDue = links[link].needsComparison || links[link].peerGeneration != links[link].comparedGeneration
            guard isDue, links[link].compareAt <= now else { return nil }
            links[link].needsComparison = false
            links[link].comparison = Link.Comparison(isFirst: false)
        }
        guard let comparison = links[link].comparison, links[link].answers.isEmpty, comparison.pending == nil
        else { return nil }
        if let askedAt = comparison.askedAt, now < askedAt + limits.wait(afterTry: comparison.tries) { return nil }
        if !comparison.wanted.isEmpty {
            dropWanted(link)
            if links[link].comparison?.wanted.isEmpty == true {
                links[link].comparison?.askedAt = nil
                goOnComparing(link)
                return ask(link)
            }
        }
        links[link].comparison?.askedAt = now
        links[link].comparison?.tries += 1
        if comparison.wanted.isEmpty {
            return .ask(number: links[link].nextNumber(), isFirst: comparison.isFirst, from: comparison.from)
        }
        if comparison.tries > 3 {
            giveUpWanted(link)
            return nil
        }
        links[link].comparison?.hasProgress = false
        return .pull(
            number: links[link].nextNumber(),
            names: links[link].comparison?.wanted.keys.sorted().prefix(limits.chunk).map { names.names[$0] } ?? [])
    }

    /// Whether the link sends notifications of this name.
    private mutating func isSent(_ name: Int, on link: Int) -> Bool {
        if name < links[link].sends.count, case let known = links[link].sends[name], known != 0 { return known == 2 }
        let text = names.names[name]
        let isSent =
            links[link].configuration.sends.matches(text) && links[link].peer?.accepts.matches(text) == true
        while links[link].sends.count <= name { links[link].sends.append(0) }
        links[link].sends[name] = isSent ? 2 : 1
        return isSent
    }

    private mutating func answer(_ question: (number: UInt32, isFirst: Bool, from: UInt64), _ link: Int) -> Accounts {
        var states: [AccountState] = []
        var at = Int(min(question.from, UInt64(accounts.count)))
        let stop = min(accounts.count, at + 8 * limits.chunk)
        var bytes = 0
        while at < stop, states.count < limits.chunk, bytes < limits.batchBytes {
            let (origin, name) = (accounts.records[at].origin, accounts.records[at].name)
            let account = accounts[at]
            at += 1
            guard isSent(name, on: link) else { continue }
            let value = retained[name]
            let described = origins[origin].origin
            bytes += names.names[name].text.utf8.count + described.host.utf8.count + described.center.utf8.count + 90
            states.append(
                AccountState(
                    mark: Mark(
                        origin: origins[origin].origin, name: names.names[name], sequence: account.sequence,
                        count: account.count, base: account.base, unsure: account.unsure),
                    version: value?.origin == origin && links[link].configuration.retained ? value?.version : nil))
        }
        return Accounts(
            number: question.number, states: states, next: at < accounts.count ? UInt64(at) : 0,
            place: question.isFirst ? cursor : answerPlace(link), generation: generation(of: link))
    }

    /// Invariant A5: each notification that the accounts count has a smaller place, unless it is lost.
    private mutating func answerPlace(_ link: Int) -> UInt64 {
        // Accounts count posts that this relay has not read again.
        let place = max(cursor, ownPosts.last.map { $0.position + 1 } ?? 0)
        // All up to there was sent: nothing behind the last item is for this link.
        if links[link].peerRound != 0, links[link].scanned >= place { return links[link].tail }
        links[link].promised = place
        return place
    }

    /// The value of the first name that was asked for, if this center still has the version that its relay knows.
    private mutating func value(_ link: Int, _ ring: some RingReading) -> Frame.Body? {
        while let (number, names, next) = links[link].pulled {
            guard next < names.count else {
                links[link].pulled = nil
                return .pulled(number: number)
            }
            links[link].pulled?.next = next + 1
            let text = names[next]
            guard let name = self.names.number(of: text), isSent(name, on: link), let known = retained[name] else {
                continue
            }
            var content = Content()
            if !known.version.isCleared {
                guard let value = ring.value(of: text), value.position == known.position,
                    value.content.payloadCount <= (links[link].peer?.payload ?? 0)
                else { continue }
                content = value.content
            }
            let account = accounts[known.origin, name]
            return .value(
                number: number,
                Item(
                    place: 0,
                    mark: Mark(
                        origin: origins[known.origin].origin, name: text, sequence: known.version.sequence,
                        count: account?.count ?? 0, base: 0),
                    version: known.version, isCleared: known.version.isCleared, content: content))
        }
        return nil
    }

    // MARK: - Items

    /// The next items of a link: those of the index, with the bytes of the log or of the ring.
    private mutating func items(_ link: Int, _ ring: some RingReading) -> ItemFrame? {
        guard links[link].peerRound != 0, links[link].scanned < cursor else { return nil }
        if let removed = index.removedThrough, links[link].scanned <= removed {
            // The ring has gone round: what was lost shows in the counts, and in a comparison.
            #if !MUTANT_LINK_LOSSES_UNNOTICED  // Found by: link 412
                links[link].generation += 1
            #endif
            links[link].scanned = removed + 1
            links[link].scan = -1
        }
        var at = links[link].scan
        if at < index.first { at = index.number(from: links[link].scanned) }
        let hasVersions = links[link].configuration.retained
        let (end, before) = (index.end, (items: links[link].unhandled, bytes: links[link].unhandledBytes))
        #if MUTANT_TOO_LARGE_FOR_PEER  // Found by: link 5
            let most = Int(UInt32.max)
        #else
            let most = Int(min(links[link].peer?.payload ?? 0, UInt64(limits.payload)))
        #endif
        var writer: ItemWriter?
        var last: UInt64 = 0
        while at < end {
            let (count, bytes) = (writer?.count ?? 0, writer?.bytes.count ?? 0)
            guard before.items + count < limits.window, before.bytes + bytes < limits.windowBytes,
                count < limits.batch, bytes < limits.batchBytes
            else { break }
            let record = index[at]
            at += 1
            let (origin, name) = (
                accounts.records[Int(record.account)].origin, accounts.records[Int(record.account)].name
            )
            guard record.link != link, origin != links[link].peerOrigin, isSent(name, on: link) else {
                links[link].scanned = record.position + 1
                continue
            }
            let range = record.content.payloadCount <= most ? log.range(of: record.content) : nil
            var content: Content?
            if range == nil {
                // What is too large for the peer is lost to it, as what has left the ring.
                content = record.content.payloadCount <= most ? ring.content(at: record.position) : nil
                guard content.map({ $0.payloadCount <= most }) == true else {
                    #if !MUTANT_LINK_LOSSES_UNNOTICED
                        links[link].generation += 1
                    #endif
                    links[link].scanned = record.position + 1
                    continue
                }
            }
            if writer == nil {
                writer = ItemWriter(
                    session: links[link].session, to: links[link].peerSession, round: links[link].peerRound,
                    after: links[link].tail, capacity: capacity(link, number: at))
            }
            let (slot, definition) = slot(of: record, origin: origin, name: name, link)
            writer!.begin(
                record, slot: slot, definition: definition, hasVersion: record.hasVersion && hasVersions)
            if let range {
                log.withBytes { writer!.body(UnsafeRawBufferPointer(rebasing: $0[range])) }
            } else {
                content!.withView { writer!.body($0) }
            }
            last = record.position
            links[link].scanned = last + 1
        }
        links[link].scan = at
        if at == end { links[link].scanned = cursor }
        if let frame = writer?.finish() {
            links[link].tail = last + 1
            links[link].sent.append(Link.SentFrame(last: last, count: frame.count, bytes: frame.bytes.count))
            links[link].unhandled += frame.count
            links[link].unhandledBytes += frame.bytes.count
            links[link].figures.sent += UInt64(frame.count)
            keepPromise(link)
            return frame
        }
        keepPromise(link)
        return nil
    }

    /// An answer named a place that the link has now passed. Without a further item, a beat says so.
    private mutating func keepPromise(_ link: Int) {
        guard links[link].promised != 0, links[link].scanned >= links[link].promised else { return }
        if links[link].tail < links[link].promised { links[link].beatAt = 0 }
        links[link].promised = 0
    }

    /// Room for a frame that begins with this record. Few records need little.
    private func capacity(_ link: Int, number: Int) -> Int {
        min(limits.batchBytes + 4096, (index.end - number + 1) * 160 + 1024)
    }

    private mutating func slot(of record: RingIndex.Record, origin: Int, name: Int, _ link: Int)
        -> (slot: Int, definition: SlotDefinition?)
    {
        let (base, unsure) = (accounts[Int(record.account)].base, accounts[Int(record.account)].unsure)
        let (slot, isNew) = links[link].slot(
            of: Int(record.account), base: base, unsure: unsure, most: limits.table)
        guard isNew else { return (slot, nil) }
        // The greeting has described this center.
        var described = origins[origin].origin
        if origin == 0 || !links[link].described.insert(origin).inserted {
            described = Origin(incarnation: described.incarnation)
        }
        return (slot, SlotDefinition(origin: described, name: names.names[name], base: base, unsure: unsure))
    }
}
