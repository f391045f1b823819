// Requests over links. Docs/Design/Relay.md, section 9, has the invariants.

/// What a dialog asks of the driver.
package enum DialogEvent: Hashable, Sendable {
    /// The peer serves these names now, and this link may call them. The list replaces the one before.
    case served(link: Int, [LinkName])
    /// Make this request in the center, and give the answers to `answer(_:to:)`.
    case request(id: UInt64, link: Int, Request)
    /// The caller of this request does not wait any more: no answer is needed.
    case cancel(id: UInt64)
    /// The caller of this request wants the next part.
    case goOn(id: UInt64)
    /// What became of the call that `request` has made. After the last answer there is none.
    case answer(call: UInt64, Answer)
    /// A participant of the peer's center is present, or has left.
    case joined(link: Int, Origin, RemoteParticipant)
    case left(link: Int, Origin, RemoteParticipant, RemoteDeparture)
}

/// What became of `RelayCore.request`.
package enum RequestOutcome: Hashable, Sendable {
    case made(call: UInt64)
    /// The peer does not serve the name now, or the link may not call it.
    case noServer
    /// The peer does not accept payloads of this size: bytes.
    case tooLarge(most: UInt64)
    /// Too much waits for the link.
    case full
}

/// The calls of a link.
struct LinkCalls: Sendable {
    /// A call of this center.
    struct Own: Sendable {
        /// The number of its message; 0: it waits for others to end.
        var message: UInt64 = 0
        /// The caller wants an answer that has not come.
        var isWaiting = true
    }

    /// What the peer serves and this link may call.
    var served: [LinkName] = []
    /// What was told to the peer.
    var told: [LinkName] = []
    var own: [UInt64: Own] = [:]
    /// Calls that wait for others to end, and their bytes.
    var waiting: [(call: UInt64, request: Request)] = []
    var waitingBytes = 0
    /// Calls of the peer: their ids here.
    var ids: [UInt64: UInt64] = [:]

    var inFlight: Int { own.count - waiting.count }
}

/// A call of a peer.
struct PeerCall: Sendable {
    var link: Int
    var call: UInt64
    /// A part was sent, and the caller has not asked for the next one.
    var isPartSent = false
}

extension RelayCore {
    // MARK: - Calls of this center

    /// Passes a request on to the peer of a link.
    package mutating func request(_ request: Request, link: Int) -> RequestOutcome {
        guard links[link].isEstablished, links[link].dialog.isHeard, links[link].calls.served.contains(request.name)
        else { return .noServer }
        let most = links[link].peer?.payload ?? 0
        guard request.payload.count <= most else { return .tooLarge(most: most) }
        let bytes = request.payload.count + links[link].calls.waitingBytes + links[link].dialog.outboxBytes
        guard bytes <= limits.dialogBytes, links[link].calls.own.count < 8 * limits.calls else { return .full }
        lastCall += 1
        links[link].calls.own[lastCall] = LinkCalls.Own()
        links[link].calls.waiting.append((lastCall, request))
        links[link].calls.waitingBytes += request.payload.count
        sendWaitingCalls(link)
        return .made(call: lastCall)
    }

    private mutating func sendWaitingCalls(_ link: Int) {
        #if MUTANT_CALLS_UNBOUNDED  // Found by: link --calls 4
            let most = Int.max
        #else
            let most = limits.calls
        #endif
        while !links[link].calls.waiting.isEmpty, links[link].calls.inFlight < most {
            let (call, request) = links[link].calls.waiting.removeFirst()
            links[link].calls.waitingBytes -= request.payload.count
            let message = links[link].dialog.append(.request(call: call, request))
            links[link].calls.own[call]?.message = message
        }
    }

    /// The caller does not wait any more: no answer follows.
    package mutating func cancel(call: UInt64) {
        guard let link = links.indices.first(where: { links[$0].calls.own[call] != nil }) else { return }
        let own = links[link].calls.own.removeValue(forKey: call)
        if own?.message == 0 {
            if let at = links[link].calls.waiting.firstIndex(where: { $0.call == call }) {
                let dropped = links[link].calls.waiting.remove(at: at)
                links[link].calls.waitingBytes -= dropped.request.payload.count
            }
        } else {
            #if !MUTANT_CANCELLATION_KEPT  // Found by: link --calls 370
                links[link].dialog.append(.cancel(call: call))
            #endif
        }
        sendWaitingCalls(link)
    }

    /// The caller wants the next part.
    package mutating func goOn(call: UInt64) {
        guard let link = links.indices.first(where: { links[$0].calls.own[call] != nil }),
            links[link].calls.own[call]?.isWaiting == false
        else { return }
        links[link].calls.own[call]?.isWaiting = true
        links[link].dialog.append(.goOn(call: call))
    }

    // MARK: - Calls of peers

    /// The names that servers of this center serve now. Those of this relay are not among them (invariant R4). Names
    /// that no peer accepts are not told.
    package mutating func setServed(_ names: [LinkName]) {
        served = names.filter(\.isValid)
        for link in links.indices { tellServed(link) }
    }

    /// Whether a list may be told now. Otherwise it is told when the peer has taken enough.
    mutating func canTell(_ link: Int) -> Bool {
        if links[link].dialog.outboxBytes <= limits.dialogBytes { return true }
        #if !MUTANT_LIST_NOT_TOLD_LATER  // Found by: link --calls 2778
            links[link].dialog.isBehind = true
        #endif
        return false
    }

    private mutating func tellServed(_ link: Int) {
        guard links[link].isEstablished, links[link].configuration.usesDialog else { return }
        let names = served.filter(links[link].configuration.serves.matches).sorted().prefix(limits.servedNames)
        guard Array(names) != links[link].calls.told, canTell(link) else { return }
        links[link].calls.told = Array(names)
        links[link].dialog.append(.served(Array(names)))
    }

    /// An answer to a request of a peer. Ignored if the peer does not wait for it.
    package mutating func answer(_ answer: Answer, to id: UInt64) {
        guard let peer = peerCalls[id], !peer.isPartSent else { return }
        let wasLast = answer.isLast
        var answer = answer
        if answer.size > links[peer.link].peer?.payload ?? 0 {
            answer = .reply(code: Self.failed, format: Self.text, payload: Array("the reply is too large".utf8))
        } else if links[peer.link].dialog.outboxBytes + answer.size > limits.dialogBytes {
            answer = .reply(
                code: Self.failed, format: Self.text,
                payload: Array("too many replies wait for the link between the two centers".utf8))
        }
        if answer.isLast { forget(id) } else { peerCalls[id]?.isPartSent = true }
        // The handler does not go on after a part that could not be sent.
        if answer.isLast, !wasLast { events.append(.cancel(id: id)) }
        links[peer.link].dialog.append(.answer(call: peer.call, answer))
    }

    /// The code of a reply that says why there is none, and the format of its text, as the library has them.
    private static let failed: UInt16 = 2
    private static let text: UInt8 = 4

    private mutating func forget(_ id: UInt64) {
        guard let peer = peerCalls.removeValue(forKey: id) else { return }
        links[peer.link].calls.ids[peer.call] = nil
    }

    // MARK: - The dialog

    /// The session of a link begins.
    mutating func beginDialog(_ link: Int) {
        if links[link].configuration.usesDialog { links[link].dialog.helloAt = now }
        tellServed(link)
        tellParticipants(link)
    }

    /// The session of a link has ended (invariants R1 and R3).
    mutating func endDialog(_ link: Int) {
        let calls = links[link].calls
        let lastSent = links[link].dialog.lastSent
        lastDialog += 1
        links[link].dialog = Dialog(number: lastDialog)
        links[link].calls = LinkCalls()
        if !calls.served.isEmpty { events.append(.served(link: link, [])) }
        #if !MUTANT_CALLS_OUTLIVE_THE_SESSION  // Found by: link --calls 2
            for (call, own) in calls.own.sorted(by: { $0.key < $1.key }) {
                #if MUTANT_SENT_CALL_UNSERVED  // Found by: link --calls 1
                    let wasSent = lastSent == 0
                #else
                    let wasSent = own.message != 0 && own.message <= lastSent
                #endif
                events.append(.answer(call: call, wasSent ? .serverEnded : .noServer))
            }
        #endif
        for id in calls.ids.values.sorted() {
            peerCalls[id] = nil
            #if !MUTANT_HANDLERS_OUTLIVE_THE_SESSION  // Found by: link --calls 10
                events.append(.cancel(id: id))
            #endif
        }
    }

    mutating func take(_ frame: DialogFrame, _ link: Int) {
        guard frame.dialog >= links[link].dialog.peerNumber else { return }
        if frame.dialog > links[link].dialog.peerNumber {
            // The peer has ended the dialog that both knew.
            if links[link].dialog.isHeard {
                endDialog(link)
                beginDialog(link)
            }
            links[link].dialog.peerNumber = frame.dialog
        }
        // Answers to a peer that takes none are bounded, too.
        let most = 2 * limits.dialogBytes + (1 << 20)
        let hasRoom = eventBytes <= limits.dialogBytes && links[link].dialog.outboxBytes <= most
        for message in links[link].dialog.take(frame, now, limits, hasRoom: hasRoom) { take(message, link) }
        if links[link].dialog.isBehind, canTell(link) {
            links[link].dialog.isBehind = false
            tellServed(link)
            tellParticipants(link)
        }
    }

    private mutating func take(_ message: Message, _ link: Int) {
        switch message {
        case .served(let names):
            let called = names.filter(links[link].configuration.calls.matches)
            guard called != links[link].calls.served else { return }
            links[link].calls.served = called
            tell(.served(link: link, called), for: message)
        case .request(let call, let request): takeRequest(call, request, message, link)
        case .cancel(let call):
            guard let id = links[link].calls.ids[call] else { return }
            forget(id)
            tell(.cancel(id: id), for: message)
        case .goOn(let call):
            guard let id = links[link].calls.ids[call], peerCalls[id]?.isPartSent == true else { return }
            peerCalls[id]?.isPartSent = false
            tell(.goOn(id: id), for: message)
        case .participants(let all): take(participants: all, link)
        case .joined(let participant): takeJoined(participant, link)
        case .left(let id, let how): takeDeparture(id, how, link)
        case .answer(let call, let answer):
            // A peer must not send parts that no caller waits for.
            guard let own = links[link].calls.own[call], own.message != 0, own.isWaiting else { return }
            var answer = answer
            if answer.size > payloadLimit(of: link) {
                links[link].figures.refused += 1
                if !answer.isLast { links[link].dialog.append(.cancel(call: call)) }
                answer = .reply(code: Self.failed, format: Self.text, payload: Array("the reply is too large".utf8))
            }
            if answer.isLast {
                links[link].calls.own[call] = nil
                sendWaitingCalls(link)
            } else {
                links[link].calls.own[call]?.isWaiting = false
            }
            tell(.answer(call: call, answer), for: message)
        }
    }

    /// Each event counts, also one without a payload: a peer can send many before the driver takes them.
    private mutating func tell(_ event: DialogEvent, for message: Message) {
        #if MUTANT_EVENTS_NOT_COUNTED  // Found by: fuzz link
            if !isMutant("EVENTS_NOT_COUNTED") { eventBytes += message.size }
        #else
            eventBytes += message.size
        #endif
        events.append(event)
    }

    /// Invariant R2: only what the link serves, and only so many at a time.
    private mutating func takeRequest(_ call: UInt64, _ request: Request, _ message: Message, _ link: Int) {
        guard links[link].calls.ids[call] == nil else { return }
        #if MUTANT_CALLS_NOT_CHECKED  // Found by: link --calls --hostile 266
            let isServed = true
        #else
            let isServed = links[link].configuration.serves.matches(request.name)
        #endif
        let isSmall = request.payload.count <= payloadLimit(of: link)
        guard isServed, isSmall, links[link].calls.ids.count < limits.calls else {
            links[link].figures.refused += 1
            links[link].dialog.append(.answer(call: call, .noServer))
            return
        }
        lastPeerCall += 1
        links[link].calls.ids[call] = lastPeerCall
        peerCalls[lastPeerCall] = PeerCall(link: link, call: call)
        tell(.request(id: lastPeerCall, link: link, request), for: message)
    }

    /// The next event for the driver. There must be one.
    mutating func nextEvent() -> DialogEvent {
        let event = events.first!
        events.removeFirst()
        if events.isEmpty { eventBytes = 0 }
        return event
    }

    // MARK: - For tests and metrics

    /// `next` returns an event.
    package var hasEvents: Bool { !events.isEmpty }

    /// Calls of this center that wait for an answer, and calls of the peer that are answered here.
    package func calls(onLink link: Int) -> (own: Int, ofPeer: Int) {
        (links[link].calls.own.count, links[link].calls.ids.count)
    }

    /// The link needs a dialog, and the peer does not know dialogs.
    package func isDialogUnanswered(onLink link: Int) -> Bool {
        links[link].isEstablished && links[link].dialog.isUnanswered
    }
}
