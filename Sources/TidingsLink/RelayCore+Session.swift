// Connections, greetings and beats.

extension RelayCore {
    /// The transport of a link is ready. `session`: a number other than 0 that no earlier session of this link had.
    package mutating func connected(_ link: Int, session: UInt64) {
        resetFlows(link)
        links[link].isConnected = true
        links[link].isWritable = true
        links[link].session = session
        links[link].peerSession = 0
        links[link].peer = nil
        links[link].greetAt = now
        links[link].heardAt = now
    }

    package mutating func disconnected(_ link: Int) {
        resetFlows(link)
        links[link].isConnected = false
    }

    /// Everything of the peer's session but the place.
    private mutating func resetFlows(_ link: Int) {
        notePlace(link)
        endDialog(link)
        links[link].resetFlows()
    }

    /// Whether the transport takes further items at present. Control frames go out in any case.
    package mutating func setWritable(_ isWritable: Bool, link: Int) {
        links[link].isWritable = isWritable
    }

    /// Milliseconds of a clock that is never set back. A link whose peer was silent for too long starts again.
    package mutating func advance(to time: UInt64) {
        now = max(now, time)
        endViews()
        for link in links.indices where links[link].isEstablished && links[link].troubleAt != 0 {
            // The link works: another client of the subject has greeted.
            if now - links[link].troubleAt > limits.trouble {
                links[link].trouble = nil
                links[link].troubleAt = 0
            }
        }
        for link in links.indices where links[link].isConnected && now - links[link].heardAt > limits.silence {
            links[link].heardAt = now
            resetFlows(link)
            links[link].peerSession = 0
            links[link].peer = nil
            links[link].greetAt = now
        }
    }

    /// Every input of a peer. Nothing in a frame is trusted (invariant T1): `FrameCoding` has checked each number's
    /// range, and each rule about two numbers is checked here.
    package mutating func received(_ frame: Frame, link: Int) {
        guard links[link].isConnected else { return }
        if case .greeting(let greeting) = frame.body {
            greeted(greeting, frame, link)
            return
        }
        // Invariant S1: frames of an earlier session mean nothing.
        #if !MUTANT_SESSIONS_MIXED  // Found by: link 13112
            guard frame.to == links[link].session, frame.session == links[link].peerSession else { return }
        #endif
        guard links[link].peer != nil else { return }
        links[link].heardAt = now
        links[link].view.heardAt = now
        establish(link)
        switch frame.body {
        case .greeting: break
        case .beat(let beat): take(beat, link)
        case .items(let items): take(items, link)
        case .ask(let number, let isFirst, let from): links[link].question = (number, isFirst, from)
        case .accounts(let accounts): take(accounts, link)
        case .pull(let number, let names): links[link].pulled = (number, Array(names.prefix(limits.chunk)), 0)
        case .value(_, let item): takeValue(item, link)
        case .pulled(let number): allWereSent(number, link)
        case .dialog(let dialog): take(dialog, link)
        }
    }

    private mutating func greeted(_ greeting: Greeting, _ frame: Frame, _ link: Int) {
        guard frame.session != 0 else { return }
        guard greeting.version == 1 else {
            note(.version(greeting.version), link)
            return
        }
        guard greeting.link == links[link].configuration.name else {
            note(.name(greeting.link), link)
            return
        }
        // Invariant L1: a link to itself carries nothing.
        if greeting.center.incarnation == own {
            note(.itself, link)
            return
        }
        // A third relay with this link name. The two that met first go on.
        if let peer = links[link].peer, links[link].isEstablished,
            peer.center.incarnation != greeting.center.incarnation
        {
            note(.taken(by: greeting.center), link)
            return
        }
        links[link].heardAt = now
        if links[link].peerSession != frame.session {
            resetFlows(link)
            links[link].peerSession = frame.session
            links[link].peer = greeting
            links[link].greetAt = now
        }
        if frame.to == links[link].session {
            establish(link)
        } else {
            // The peer has not heard this session: answer.
            links[link].greetAt = now
        }
    }

    private mutating func note(_ trouble: LinkTrouble, _ link: Int) {
        links[link].trouble = trouble
        links[link].troubleAt = max(now, 1)
    }

    /// A link with the lists of another one is in its group. Otherwise it begins one. What the relay before this one
    /// has posted, of names that the group accepts, stands for the highest position of the group.
    private mutating func joinGroup(_ link: Int, _ lists: Group) {
        guard links[link].lists != lists else { return }
        links[link].lists = lists
        let others = links.indices.filter { $0 != link && links[$0].lists != nil }
        if let other = others.first(where: { links[$0].lists == lists }) {
            links[link].group = links[other].group
            return
        }
        let used = Set(others.map { links[$0].group })
        let group = links.indices.first { !used.contains($0) } ?? link
        links[link].group = group
        for origin in origins.indices { origins[origin].forget(group) }
        for record in accounts.records
        where record.floor > 0 && lists.accepts.matches(names.names[record.name]) {
            origins[record.origin].setTop(group, sequence: record.floor, link: -2)
        }
    }

    /// The peer knows this session.
    private mutating func establish(_ link: Int) {
        guard !links[link].isEstablished, let peer = links[link].peer else { return }
        links[link].isEstablished = true
        links[link].peerOrigin = originNumber(of: peer.center, link) ?? -1
        let own = links[link].configuration
        let isShared = own.sends.overlaps(peer.accepts) || peer.sends.overlaps(own.accepts)
        links[link].trouble = isShared || own.usesDialog ? nil : .noCommonName
        links[link].troubleAt = 0
        joinGroup(link, Group(sends: peer.sends, accepts: own.accepts))
        links[link].comparedGeneration = 0
        links[link].compareAt = now
        links[link].beginRound()
        if let known = places.first(where: { $0.link == own.name && $0.incarnation == peer.center.incarnation }) {
            links[link].handled = known.place
            links[link].received = known.place
            links[link].needsComparison = true
            allOriginsAreKnown(link)
        } else {
            links[link].handled = 0
            links[link].received = Beat.end
            links[link].comparison = Link.Comparison(isFirst: true)
        }
        beginDialog(link)
    }

    private mutating func take(_ beat: Beat, _ link: Int) {
        // As sender.
        if beat.round != links[link].peerRound {
            let ahead = Int32(bitPattern: beat.round &- links[link].peerRound)
            if links[link].peerRound == 0 || ahead > 0 {
                links[link].peerRound = beat.round
                #if !MUTANT_RECEIVED_COUNTS_AS_ACKNOWLEDGED  // Found by: link 18996
                    // What the peer has received is not sent again now, and it has not posted all of that. Before its
                    // first comparison ends, it may still ask for all of it.
                    links[link].owed = beat.handled < beat.received ? min(beat.received, cursor) : 0
                #endif
                // A place beyond the end is the end.
                links[link].continueSending(at: min(beat.received, cursor))
                // Tells that the round was heard.
                links[link].beatAt = 0
            }
        } else {
            if beat.handled >= links[link].owed { links[link].owed = 0 }
            while let frame = links[link].sent.first, frame.last < beat.handled {
                links[link].sent.removeFirst()
                links[link].unhandled -= frame.count
                links[link].unhandledBytes -= frame.bytes
            }
            #if MUTANT_SENT_COUNTS_AS_ACKNOWLEDGED  // Found by: link 1428
                links[link].acknowledged = max(links[link].acknowledged, links[link].scanned)
            #else
                // The peer can't have handled what was not sent.
                links[link].acknowledged = max(links[link].acknowledged, min(beat.handled, links[link].scanned))
            #endif
        }
        // As receiver.
        links[link].peerGeneration = beat.generation
        #if !MUTANT_ROUND_NEVER_HEARD  // Found by: link 1
            if beat.peerRound == links[link].round { links[link].isRoundHeard = true }
        #endif
        guard beat.peerRound == links[link].round, links[link].received != Beat.end else { return }
        if beat.tail > links[link].received {
            noticeGap(link)
        } else if beat.through > links[link].received {
            links[link].received = min(beat.through, LinkLimits.number)
            if links[link].inbox.isEmpty { links[link].didHandle() }
        }
    }

    /// Something was sent before what has arrived. It may be on its way: ask for it after a while.
    mutating func noticeGap(_ link: Int) {
        if links[link].gapSince == nil { links[link].gapSince = now }
    }

    /// Where the link goes on in a later session.
    mutating func notePlace(_ link: Int) {
        // A first comparison that did not end has no place yet.
        guard links[link].isEstablished, let peer = links[link].peer, links[link].received != Beat.end,
            links[link].comparison?.isFirst != true
        else { return }
        let name = links[link].configuration.name
        places.removeAll { $0.link == name && $0.incarnation == peer.center.incarnation }
        places.append(
            Checkpoint.LinkPlace(link: name, incarnation: peer.center.incarnation, place: links[link].handled))
        if places.reduce(0, { $0 + ($1.link == name ? 1 : 0) }) > limits.places,
            let oldest = places.firstIndex(where: { $0.link == name })
        {
            places.remove(at: oldest)
        }
    }

    func beat(_ link: Int) -> Beat {
        Beat(
            round: links[link].round, received: links[link].received, handled: links[link].handled,
            peerRound: links[link].peerRound, tail: links[link].tail,
            through: max(links[link].tail, links[link].scanned), generation: generation(of: link))
    }

    func generation(of link: Int) -> UInt64 { generation &+ links[link].generation }
}
