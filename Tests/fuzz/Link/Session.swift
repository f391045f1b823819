// A relay with two links, and peers that send what they like. Each output is checked, and after each step the sizes of
// all tables.

struct Session {
    static let links: [LinkConfiguration] = {
        var first = LinkConfiguration(
            name: "L", sends: .all, accepts: NameList(names: ["b.1"], prefixes: ["a."]))
        first.serves = NameList(prefixes: ["a."])
        first.calls = NameList(prefixes: ["a."])
        first.announces = true
        first.shows = true
        var second = LinkConfiguration(name: "M", sends: NameList(prefixes: ["a."]), accepts: .all)
        second.calls = .all
        second.shows = true
        return [first, second]
    }()

    static let limits: LinkLimits = {
        var limits = LinkLimits()
        (limits.window, limits.windowBytes, limits.batch, limits.batchBytes) = (8, 2048, 4, 512)
        (limits.inbox, limits.inboxBytes, limits.log, limits.table) = (6, 2048, 1024, 8)
        (limits.turn, limits.places, limits.chunk, limits.payload) = (2, 2, 4, 64)
        (limits.origins, limits.names, limits.accounts) = (8, 32, 12)
        (limits.calls, limits.servedNames, limits.participants) = (3, 4, 4)
        (limits.dialogBytes, limits.dialogWindow) = (1024, 256)
        return limits
    }()

    /// A frame of a script is at most this large.
    private static let frame = 16_384
    /// Names that this center posts.
    private static let ownNames: [LinkName] = ["a.0", "a.1", "b.1", "c.1"]

    var script: Script
    var core: RelayCore
    private var center: SimulatedCenter
    private var time: UInt64 = 1
    private var session: UInt64 = 1
    private let limits: LinkLimits
    private var requests: [UInt64] = []
    private var calls: Set<UInt64> = []
    private var stored: Checkpoint?

    init(_ bytes: [UInt8], shape: UInt8) {
        script = Script(bytes)
        let origin = Origin(incarnation: 1, host: "h", center: "own")
        var limits = Self.limits
        if shape & 4 != 0 { limits.accounts = 4 }
        self.limits = limits
        center = SimulatedCenter(origin: origin, slots: shape & 1 == 0 ? 8 : 256)
        core = RelayCore(
            center: origin, slots: center.slots, links: Self.links, position: 0, limits: limits)
        if shape & 2 != 0 {
            for link in Self.links.indices { meet(link) }
            for link in Self.links.indices { compare(link) }
        }
    }

    mutating func play() {
        while !script.isAtEnd {
            step()
            check()
        }
        drain(.max)
        check()
    }

    // MARK: - Steps

    private mutating func step() {
        let byte = script.byte()
        let link = Int(byte & 1)
        switch byte >> 1 & 31 {
        case 0:
            meet(link)
            if script.flag() { compare(link) }
        case 1: core.connected(link, session: nextSession())
        case 2: core.disconnected(link)
        case 3:
            let frame = Frame(
                session: script.flag() ? core.links[link].peerSession : UInt64(script.byte()),
                to: script.flag() ? core.links[link].session : 0, body: .greeting(greeting(link)))
            receive(FrameCoding.encode(frame), link)
        case 4: advance(UInt64(script.byte()))
        case 5: advance(UInt64(script.byte()) * 100)
        case 6...8: drain(Int(script.byte() % 8) + 1)
        case 9, 10: drain(.max)
        case 11, 12: post()
        case 13:
            let (most, how) = (script.below(8), script.byte())
            center.read(&core, most: most, date: time, ownAreRead: how & 1 == 0, hasContents: how & 2 == 0)
        case 14: center.read(&core, date: time, ownAreRead: true)
        case 15: core.setWritable(script.flag(), link: link)
        case 16: ask(link)
        case 17: answer()
        case 18: core.setServed(script.names(8))
        case 19: core.joined(participant())
        case 20: core.left(UInt64(script.byte() % 16), .died)
        case 21: begin()
        case 22:
            // A frame with bytes changed.
            var bytes = frame(link)
            for _ in 0...script.below(3) { bytes[17 + script.below(256) % (bytes.count - 17)] = script.byte() }
            receive(bytes, link)
        case 23:
            // The same frame again and again, with messages that go on.
            var dialog = dialog(link)
            for _ in 0..<script.below(32) {
                let known = core.links[link]
                dialog.first = known.dialog.taken + 1
                let frame = Frame(session: known.peerSession, to: known.session, body: .dialog(dialog))
                receive(FrameCoding.encode(frame), link)
            }
        default: receive(frame(link), link)
        }
    }

    private mutating func nextSession() -> UInt64 {
        session += 1
        return session
    }

    /// Both sides know their sessions, and the peer asks for nothing from the link.
    private mutating func meet(_ link: Int) {
        core.connected(link, session: nextSession())
        let peer = nextSession()
        receive(
            FrameCoding.encode(
                Frame(session: peer, to: core.links[link].session, body: .greeting(greeting(link)))), link)
    }

    /// Ends the first comparison: from then on the link takes items.
    private mutating func compare(_ link: Int) {
        drain(.max)
        let (known, place) = (core.links[link], script.number([]))
        let answer = Accounts(number: known.number, states: [], next: 0, place: place, generation: 0)
        receive(
            FrameCoding.encode(
                Frame(session: known.peerSession, to: known.session, body: .accounts(answer))), link)
        drain(.max)
    }

    private mutating func advance(_ milliseconds: UInt64) {
        time += milliseconds
        core.advance(to: time)
    }

    private mutating func receive(_ bytes: [UInt8], _ link: Int) {
        if bytes.count > Self.frame { return }
        guard let frame = settles(bytes, limits) else { return }
        core.received(frame, link: link)
    }

    private mutating func post() {
        let how = script.byte()
        let isRetained = how & 4 != 0
        let isCleared = isRetained && how & 8 != 0
        let content = isCleared ? Content(postedAt: time) : Content(postedAt: time, payload: script.payload())
        center.post(
            Self.ownNames[Int(how & 3)], content, isRetained: isRetained, isCleared: isCleared, relayed: nil)
    }

    private mutating func ask(_ link: Int) {
        switch script.below(4) {
        case 0: if let call = calls.min() { core.goOn(call: call) }
        case 1:
            guard let call = calls.min() else { return }
            calls.remove(call)
            core.cancel(call: call)
        default:
            let served = core.links[link].calls.served
            var request = request()
            if !served.isEmpty { request.name = served[script.below(served.count)] }
            guard request.payload.count <= 64 else { return }
            if case .made(let call) = core.request(request, link: link) { calls.insert(call) }
        }
    }

    private mutating func answer() {
        guard !requests.isEmpty else { return }
        let at = script.below(requests.count)
        let payload = script.payload()
        if script.flag() {
            core.answer(.part(code: 0, format: 1, payload: payload), to: requests[at])
        } else {
            core.answer(.reply(code: 0, format: 1, payload: payload), to: requests.remove(at: at))
        }
    }

    /// The relay ends, and the next one begins with what it stored last.
    private mutating func begin() {
        guard let stored, let checkpoint = CheckpointCoding.decode(CheckpointCoding.encode(stored), incarnation: 1)
        else { return }
        core = RelayCore(
            checkpoint: checkpoint, oldest: center.oldest, slots: center.slots, links: Self.links, limits: limits)
        // The old core's numbers of names are not the new one's.
        core.replay(center.records(from: center.oldest).map { $0.record(&core) })
        core.refresh(center.retained(&core), date: time)
        core.advance(to: time)
        requests = []
        calls = []
    }

    // MARK: - Outputs

    private mutating func drain(_ most: Int) {
        var count = 0
        while count < most, let output = core.next(center) {
            count += 1
            // Windows and inboxes are bounded, and the time stands still.
            if count > 5000 { fail("a relay does not come to rest") }
            switch output {
            case .send(let link, let frame): sent(frame, link)
            case .post(let post): take(post)
            case .store(let checkpoint):
                isKept(checkpoint)
                if script.byte() < 240 {
                    stored = checkpoint
                    core.stored()
                } else {
                    core.notStored(until: time + 5)
                }
            case .dialog(let event): take(event)
            }
        }
    }

    /// Invariant T2: the link accepts the name. A peer makes nothing look local (L1, O1).
    private mutating func take(_ post: Post) {
        let link = core.outstanding!.link
        let name = core.name(post.name)
        guard Self.links[link].accepts.matches(name) else { fail("link \(link) posts \(name.text)") }
        guard post.content.payloadCount <= limits.payload else { fail("a payload that is too large is posted") }
        guard post.relayed.isValue || post.relayed.incarnation != 1 else { fail("an own notification is posted") }
        guard post.relayed.isValue || post.relayed.count > post.relayed.base else { fail("a count below its base") }
        guard stored?.origins.contains(where: { $0.origin.incarnation == post.relayed.incarnation }) == true else {
            fail("a post of an origin that is not stored")
        }
        let how = script.byte()
        if how > 250 { return core.discarded() }
        if how > 240 { return core.notPosted(until: time + 5) }
        let position = center.post(
            name, post.content, isRetained: post.isRetained, isCleared: post.isCleared, relayed: post.relayed)
        core.posted(at: position)
    }

    /// A peer reads each frame, and each name in it is one that the link sends.
    private func sent(_ frame: Frame, _ link: Int) {
        // Its limits are the largest ones that it may have.
        let bytes = FrameCoding.encode(frame)
        guard let decoded = FrameCoding.decode(bytes, limits: limits), decoded == frame else {
            fail("a peer does not read \(frame)")
        }
        var names: [LinkName] = []
        switch decoded.body {
        case .items(let items): names = items.definitions.map(\.name)
        case .accounts(let accounts): names = accounts.states.map(\.mark.name)
        case .value(_, let item): names = [item.mark.name]
        default: return
        }
        for name in names {
            guard Self.links[link].sends.matches(name), core.links[link].peer?.accepts.matches(name) == true else {
                fail("link \(link) sends \(name.text)")
            }
        }
    }

    private mutating func take(_ event: DialogEvent) {
        switch event {
        case .served(let link, let names):
            guard names.allSatisfy(Self.links[link].calls.matches) else { fail("link \(link) calls \(names)") }
        case .request(let id, let link, let request):
            guard Self.links[link].serves.matches(request.name) else { fail("link \(link) serves \(request)") }
            requests.append(id)
        case .cancel(let id): requests.removeAll { $0 == id }
        case .goOn(let id):
            // Answers of this side, and cancellations, can come first.
            if requests.filter({ $0 == id }).count > 1 { fail("two requests with one id") }
        case .answer(let call, let answer):
            if answer.isLast { calls.remove(call) }
        case .joined(let link, _, let participant), .left(let link, _, let participant, _):
            guard Self.links[link].shows, participant.role.utf8.count <= 64 else { fail("\(participant)") }
        }
    }

    // MARK: - Bounds

    /// Invariants S3, T3, R2 and P2: what a peer sends takes a bounded memory.
    private func check() {
        bounded("origins", core.origins.count, limits.origins)
        bounded("names", core.names.count, limits.names)
        bounded("accounts of other centers", core.accounts.records.count { $0.origin != 0 }, limits.accounts)
        bounded("retained values", core.retained.count, limits.names)
        bounded("calls of peers", core.peerCalls.count, limits.calls * Self.links.count)
        bounded("places", core.places.count, limits.places * Self.links.count)
        // One frame more than fits is taken: at most 96 messages, each with at most nine events of 16 bytes or more.
        bounded("events", core.events.count, limits.dialogBytes / 16 + 96 * 9)
        bounded("index", core.index.end - core.index.first, Int(center.slots))
        for (number, link) in core.links.enumerated() {
            let what = "of link \(number)"
            bounded("inbox \(what)", link.inboxCount, limits.inbox)
            bounded("bytes of the inbox \(what)", link.inboxBytes, limits.inboxBytes + Self.frame)
            bounded("frames of the inbox \(what)", link.inbox.count, limits.inbox)
            bounded("slots received \(what)", link.table.count, limits.table)
            bounded("slots sent \(what)", link.slots.count, limits.table)
            bounded("bytes of values \(what)", link.answerBytes, limits.inboxBytes + Self.frame)
            bounded("values \(what)", link.answers.count, limits.inboxBytes / 512 + 1)
            bounded("wanted values \(what)", link.comparison?.wanted.count ?? 0, limits.names)
            bounded("names asked for \(what)", link.pulled?.names.count ?? 0, limits.chunk)
            bounded("origins begun \(what)", link.originsBegun, limits.origins / Self.links.count)
            bounded("names begun \(what)", link.namesBegun, limits.names / 2 / Self.links.count)
            bounded("items on their way \(what)", link.unhandled, limits.window)
            bounded("bytes on their way \(what)", link.unhandledBytes, limits.windowBytes + 1024)
            bounded("participants \(what)", link.view.participants.count, limits.participants)
            bounded("names served \(what)", link.calls.served.count, limits.servedNames)
            bounded("calls of the peer \(what)", link.calls.ids.count, limits.calls)
            bounded("bytes of messages \(what)", link.dialog.outboxBytes, 2 * limits.dialogBytes + (1 << 20) + 65_536)
            if link.acknowledged > core.cursor { fail("a place beyond the end is acknowledged \(what)") }
            if link.received != Beat.end, link.handled > link.received { fail("more is handled than received \(what)") }
        }
    }

    private func bounded(_ what: String, _ count: Int, _ most: Int) {
        if count < 0 || count > most { fail("\(what): \(count), and at most \(most)") }
    }
}
