// Frames of a hostile peer: well formed, with numbers that need not fit together.

extension Session {
    mutating func mark(_ near: [UInt64]) -> Mark {
        Mark(
            origin: script.origin(), name: script.name(), sequence: script.number(near), count: script.number(near),
            base: script.byte() < 200 ? 0 : script.number(near), unsure: script.byte() < 200 ? 0 : script.number(near))
    }

    mutating func version(_ origin: Origin, _ near: [UInt64]) -> Version? {
        guard script.flag() else { return nil }
        return Version(
            date: script.number(near), incarnation: origin.incarnation, sequence: script.number(near),
            isCleared: script.byte() > 200)
    }

    mutating func content() -> Content {
        Content(
            subject: script.text(), format: script.byte(), pid: -1, uid: .max, postedAt: script.number([]),
            payload: script.payload())
    }

    mutating func greeting(_ link: Int) -> Greeting {
        var greeting = Greeting(
            link: Session.links[link].name, center: Origin(incarnation: UInt64(link) + 2, host: "h", center: "c"),
            payload: 64, sends: .all, accepts: .all)
        guard script.byte() > 127 else { return greeting }
        if script.byte() > 200 { greeting.version = UInt16(truncatingIfNeeded: script.number([])) }
        if script.byte() > 200 { greeting.link = script.text() }
        greeting.center = script.origin()
        greeting.payload = script.number([64])
        greeting.sends = script.list()
        greeting.accepts = script.list()
        return greeting
    }

    mutating func participant() -> RemoteParticipant {
        RemoteParticipant(
            id: UInt64(script.byte() % 16), pid: 1, uid: 1, role: script.text(64), executable: script.text(79))
    }

    private mutating func answer() -> Answer {
        switch script.below(4) {
        case 0: .part(code: 0, format: 1, payload: script.payload())
        case 1: .reply(code: .max, format: 1, payload: script.payload())
        case 2: .serverEnded
        default: .noServer
        }
    }

    mutating func request() -> Request {
        Request(name: script.name(), isIdempotent: script.flag(), format: 1, payload: script.payload())
    }

    private mutating func message(_ link: Int) -> Message {
        let call = script.number([core.lastCall, core.lastPeerCall])
        return switch script.below(8) {
        case 0: .served(script.names(7))
        case 1: .request(call: call, request())
        case 2: .cancel(call: call)
        case 3: .goOn(call: call)
        case 4: .answer(call: call, answer())
        case 5: .participants((0..<script.below(6)).map { _ in participant() })
        case 6: .joined(participant())
        default: .left(id: UInt64(script.byte() % 16), RemoteDeparture(rawValue: script.byte() % 3)!)
        }
    }

    /// The messages come several times, with other numbers of calls.
    mutating func dialog(_ link: Int) -> DialogFrame {
        let known = core.links[link].dialog
        let isPlain = script.flag()
        let pattern = (0..<script.below(4)).map { _ in message(link) }
        var messages: [Message] = []
        for number in 0..<UInt64(script.below(32) + 1) {
            for message in pattern {
                switch message {
                case .request(let call, let request): messages.append(.request(call: call &+ number, request))
                case .cancel(let call): messages.append(.cancel(call: call &+ number))
                default: messages.append(message)
                }
            }
        }
        if isPlain {
            return DialogFrame(
                dialog: max(known.peerNumber, 1), to: known.number, isFirst: false, first: known.taken + 1,
                taken: known.lastSent, messages: messages)
        }
        let near = [known.number, known.peerNumber, known.lastSent, known.taken]
        return DialogFrame(
            dialog: script.number(near), to: script.flag() ? known.number : script.number(near),
            isFirst: script.flag(), first: script.number(near), taken: script.number(near), messages: messages)
    }

    mutating func beat(_ link: Int) -> Beat {
        let known = core.links[link]
        let near = [known.scanned, known.tail, known.received, known.handled, core.cursor, known.peerGeneration]
        let round = UInt64(known.peerRound)
        return Beat(
            round: script.flag() ? known.peerRound : UInt32(truncatingIfNeeded: script.number([round])),
            received: script.number(near), handled: script.number(near),
            peerRound: script.byte() < 200 ? known.round : UInt32(script.byte()), tail: script.number(near),
            through: script.number(near), generation: script.number(near))
    }

    mutating func accounts(_ link: Int) -> Accounts {
        let near = [core.links[link].received, core.links[link].handled, core.cursor]
        let states = (0..<script.below(8)).map { _ in
            let mark = mark(near)
            return AccountState(mark: mark, version: version(mark.origin, near))
        }
        return Accounts(
            number: core.links[link].number, states: states, next: script.byte() < 200 ? 0 : script.number(near),
            place: script.number(near), generation: script.number(near))
    }

    /// A frame of items as bytes: the core has no such frame as a value before it is decoded.
    mutating func items(_ link: Int) -> [UInt8] {
        let known = core.links[link]
        let near = [known.received, known.handled, core.cursor]
        var output = FrameOutput()
        output.bytes.append(FrameCoding.format)
        output.fixed(known.peerSession)
        output.fixed(known.session)
        output.bytes.append(FrameCoding.items)
        let header = script.byte()
        let after = header < 160 ? min(known.received, LinkLimits.number - 1) : script.number(near)
        let count = script.below(12)
        little(header & 1 == 0 ? known.round : UInt32(script.byte()), &output)
        output.fixed(after)
        little(header > 250 ? UInt32(truncatingIfNeeded: script.number([])) : UInt32(count), &output)
        for _ in 0..<count {
            let how = script.byte()
            let isSame = how & 0x60 == 0x60
            var flags = how & (ItemFlags.defines | ItemFlags.retained | ItemFlags.cleared | ItemFlags.own)
            if isSame { flags |= ItemFlags.sameSlot }
            output.bytes.append(flags)
            output.number(how & 128 == 0 ? 0 : script.number([]))
            if !isSame { output.number(UInt64(script.byte() % 12)) }
            if flags & ItemFlags.defines != 0 {
                output.origin(script.origin())
                output.text(script.name().text)
                output.number(script.byte() < 200 ? 0 : script.number(near))
                output.number(script.byte() < 200 ? 0 : script.number(near))
            }
            if flags & ItemFlags.own == 0 { output.number(script.number(near)) }
            output.number(script.number(near))
            if flags & ItemFlags.retained != 0 { output.fixed(script.number(near)) }
            let sizes = script.byte()
            let (subject, payload) = (sizes < 200 ? "" : script.text(), script.payload())
            output.bytes.append(1)
            output.bytes += [UInt8](repeating: 1, count: 16)
            // Some sizes are not those of what follows.
            output.bytes.append(248..<252 ~= sizes ? script.byte() : UInt8(truncatingIfNeeded: subject.utf8.count))
            output.number(sizes >= 252 ? script.number([]) : UInt64(payload.count))
            output.bytes += Array(subject.utf8) + payload
        }
        return output.bytes
    }

    private func little(_ number: UInt32, _ output: inout FrameOutput) {
        for shift in [0, 8, 16, 24] as [UInt32] { output.bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Any frame but a greeting, as bytes.
    mutating func frame(_ link: Int) -> [UInt8] {
        let known = core.links[link]
        let near = [UInt64(known.number), known.received]
        let body: Frame.Body
        switch script.below(16) {
        case 0...4: return items(link)
        case 5, 6: body = .beat(beat(link))
        case 7: body = .ask(number: known.number, isFirst: script.flag(), from: script.number([]))
        case 8, 9: body = .accounts(accounts(link))
        case 10: body = .pull(number: known.number, names: script.names(12))
        case 11:
            let mark = mark(near)
            let version = version(mark.origin, near)
            body = .value(
                number: known.number,
                Item(place: 0, mark: mark, version: version, isCleared: script.flag(), content: content()))
        case 12: body = .pulled(number: known.number)
        default: body = .dialog(dialog(link))
        }
        return FrameCoding.encode(Frame(session: known.peerSession, to: known.session, body: body))
    }
}
