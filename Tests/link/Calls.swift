// Schedules of requests between up to four centers: callers, servers, and everything that can go wrong between them.

#if canImport(TidingsLink)
    import TidingsLink
#endif

struct CallSchedule: Wired {
    /// A call that a program has made, and what it knows of it.
    struct Call {
        var center: Int
        var link: Int
        var name: LinkName
        /// The id in the relay; 0: it has ended.
        var id: UInt64
        var parts = 0
        var asksForMore = false
        var isCancelled = false
        var executions = 0
        var madeAt: UInt64
    }

    /// A request that a server handles.
    struct Handler {
        var center: Int
        var link: Int
        var id: UInt64
        /// The number of the call that it answers.
        var call: Int
        var parts = 0
        /// The caller has asked for an answer.
        var isWanted = true
        var isCancelled = false
    }

    struct Figures: CustomStringConvertible {
        var calls = 0, replies = 0, parts = 0, ended = 0, unserved = 0, cancelled = 0
        mutating func add(_ other: Figures) {
            calls += other.calls
            replies += other.replies
            parts += other.parts
            ended += other.ended
            unserved += other.unserved
            cancelled += other.cancelled
        }
        var description: String {
            "\(calls) calls: \(replies) replies, \(parts) parts, \(ended) servers ended, \(unserved) had no server, "
                + "\(cancelled) cancelled"
        }
    }

    let seed: UInt64
    var random: Random
    let isHostile: Bool
    var wires: [Wire] = []
    var configurations: [[LinkConfiguration]]
    var limits = LinkLimits()
    var centers: [SimulatedCenter] = []
    var relays: [RelayCore?] = []
    var served: [Set<LinkName>]
    /// What each link may call now, as its driver was told.
    var callable: [[[LinkName]]]
    var calls: [Call] = []
    /// Ids of cancelled calls, of each center.
    var cancelled: [Set<UInt64>]
    var handlers: [Handler] = []
    /// The participants of each center, and those that each link shows, as its driver was told.
    var present: [[UInt64: RemoteParticipant]]
    var shown: [[[UInt64: RemoteParticipant]]]
    /// When each link has heard its peer.
    var heardAt: [[UInt64]]
    var lastParticipant: UInt64 = 0
    var figures = Figures()
    var time: UInt64 = 1000
    var sessions: UInt64 = 0
    let names: [LinkName] = ["r1", "r2", "r3"]

    init(seed: UInt64, isHostile: Bool) {
        self.seed = seed
        self.isHostile = isHostile
        random = Random(seed: seed)
        let topologies: [[(Int, Int)]] = [
            [(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)], [(0, 1), (0, 2), (0, 3)], [(0, 1), (0, 1)],
        ]
        let pairs = topologies[random.below(topologies.count)]
        let count = 1 + pairs.map { max($0.0, $0.1) }.max()!
        configurations = .init(repeating: [], count: count)
        served = .init(repeating: [], count: count)
        callable = []
        cancelled = .init(repeating: [], count: count)
        present = []
        shown = []
        heardAt = []
        for (number, (left, right)) in pairs.enumerated() {
            let ends = [left, right].map { center in
                defer {
                    var link = LinkConfiguration(name: "link-\(number)", sends: .all, accepts: .all)
                    link.serves = list()
                    link.calls = list()
                    link.announces = random.chance(70)
                    link.shows = random.chance(70)
                    configurations[center].append(link)
                }
                return End(center: center, link: configurations[center].count)
            }
            wires.append(Wire(ends: ends))
        }
        limits.calls = 1 + random.below(4)
        limits.participants = 2 + random.below(6)
        limits.dialogWindow = [100, 1000, 100_000][random.below(3)]
        limits.batchBytes = [50, 500, 32_768][random.below(3)]
        limits.dialogBytes = [400, 4000, 100_000][random.below(3)]
        present = .init(repeating: [:], count: count)
        shown = configurations.map { $0.map { _ in [:] } }
        heardAt = configurations.map { $0.map { _ in 0 } }
        callable = configurations.map { $0.map { _ in [] } }
        for number in 0..<count {
            let origin = Origin(incarnation: UInt64(100 + number), host: "host\(number)", center: "player")
            centers.append(SimulatedCenter(origin: origin, slots: 64))
            relays.append(nil)
        }
        for number in 0..<count { start(number) }
    }

    /// Center 0 shows one participant of a peer, whatever the peer tells.
    func limits(of number: Int) -> LinkLimits {
        var limits = limits
        if number == 0 { limits.participants = 1 }
        return limits
    }

    private mutating func list() -> NameList {
        random.chance(50) ? .all : NameList(names: names.filter { _ in random.chance(60) })
    }

    // MARK: - Relays

    mutating func start(_ number: Int) {
        trace("\(time) start \(number)")
        var core = RelayCore(
            center: centers[number].origin, slots: centers[number].slots, links: configurations[number],
            position: centers[number].end, limits: limits(of: number))
        core.advance(to: time)
        core.setServed(Array(served[number]))
        for participant in present[number].values.sorted(by: { $0.id < $1.id }) { core.joined(participant) }
        relays[number] = core
        for (wire, link) in wires.enumerated() where link.isUp { connect(wire) }
    }

    /// The programs of the center lose their calls, and its servers their callers.
    mutating func crash(_ number: Int) {
        trace("\(time) crash \(number)")
        relays[number] = nil
        for call in calls.indices where calls[call].center == number { calls[call].id = 0 }
        handlers.removeAll { $0.center == number }
        callable[number] = callable[number].map { _ in [] }
        cancelled[number] = []
        shown[number] = shown[number].map { _ in [:] }
        for wire in wires.indices {
            for (at, end) in wires[wire].ends.enumerated() where end.center == number { wires[wire].frames[at] = [] }
        }
    }

    mutating func run(_ number: Int, most: Int, isCalm: Bool = false) throws {
        guard relays[number] != nil else { return }
        relays[number]!.advance(to: time)
        for link in configurations[number].indices {
            relays[number]!.setWritable(isCalm || random.chance(90), link: link)
        }
        // The driver takes all events before it waits.
        var left = most
        while left > 0 || relays[number]!.hasEvents {
            left -= 1
            guard let output = relays[number]!.next(centers[number]) else { break }
            switch output {
            case .store: relays[number]!.stored()
            case .post: relays[number]!.notPosted(until: time + 1)
            case .dialog(let event): try take(event, at: number)
            case .send(let link, let frame):
                for (wire, one) in wires.enumerated() where one.isUp {
                    for (at, end) in one.ends.enumerated() where end.center == number && end.link == link {
                        if wires[wire].frames[1 - at].count < 60 { wires[wire].frames[1 - at].append(frame) }
                    }
                }
            }
        }
        for link in configurations[number].indices {
            let (own, ofPeer) = relays[number]!.calls(onLink: link)
            guard ofPeer <= limits.calls, own <= 8 * limits.calls else {
                throw Failure("center \(number) has \(own) calls on link \(link), and answers \(ofPeer)")
            }
            // Invariant P1.
            if !shown[number][link].isEmpty, time > heardAt[number][link] + limits.silence {
                throw Failure("center \(number) shows participants of link \(link), which is silent")
            }
            guard shown[number][link].count <= limits(of: number).participants else {
                throw Failure("too many participants")
            }
            // Invariant R1: without a peer, and all events taken, no call waits.
            if relays[number]!.peer(ofLink: link) == nil, own + ofPeer > 0 {
                throw Failure("center \(number) waits for \(own) calls on link \(link), which has no peer")
            }
        }
    }

    // MARK: - Programs

    func payload(_ call: Int, part: Int = -1) -> [UInt8] { [UInt8(call & 255), UInt8(call >> 8), UInt8(part & 255)] }

    mutating func take(_ event: DialogEvent, at number: Int) throws {
        trace("\(time) center \(number): \(event)")
        switch event {
        case .served(let link, let names):
            guard names.allSatisfy(configurations[number][link].calls.matches) else {
                throw Failure("link \(link) of center \(number) is told of names that it may not call: \(names)")
            }
            callable[number][link] = names
        case .request(let id, let link, let request):
            guard configurations[number][link].serves.matches(request.name) else {
                throw Failure("center \(number) is to answer \(request.name.text), which link \(link) does not serve")
            }
            guard !isHostile else {
                handlers.append(Handler(center: number, link: link, id: id, call: 0))
                return
            }
            let call = Int(request.payload[0]) + Int(request.payload[1]) << 8
            guard calls.indices.contains(call), calls[call].name == request.name,
                request.payload.starts(with: payload(call)), request.isIdempotent == (call % 2 == 0)
            else { throw Failure("center \(number) receives a request that no program made: \(request)") }
            calls[call].executions += 1
            // Invariant R1: once at most.
            guard calls[call].executions == 1 else { throw Failure("request \(call) is received twice") }
            let inFlight = handlers.count { $0.center == number && $0.link == link && !$0.isCancelled }
            guard inFlight < limits.calls else { throw Failure("\(inFlight + 1) requests of link \(link) at a time") }
            handlers.append(Handler(center: number, link: link, id: id, call: call))
        case .cancel(let id):
            for at in handlers.indices where handlers[at].center == number && handlers[at].id == id {
                handlers[at].isCancelled = true
            }
        case .goOn(let id):
            for at in handlers.indices where handlers[at].center == number && handlers[at].id == id {
                guard !handlers[at].isWanted, handlers[at].parts > 0 else {
                    throw Failure("the caller of request \(handlers[at].call) goes on twice")
                }
                handlers[at].isWanted = true
            }
        case .joined(let link, let origin, let participant):
            guard configurations[number][link].shows, origin.incarnation != centers[number].origin.incarnation,
                shown[number][link].updateValue(participant, forKey: participant.id) == nil
            else { throw Failure("center \(number) is told of \(participant) on link \(link)") }
        case .left(let link, _, let participant, _):
            guard shown[number][link].removeValue(forKey: participant.id) == participant else {
                throw Failure("center \(number) is told that \(participant) left")
            }
        case .answer(let id, let answer):
            // It was there when its call was cancelled.
            if cancelled[number].contains(id) { return }
            guard let call = calls.firstIndex(where: { $0.center == number && $0.id == id }) else {
                throw Failure("center \(number) receives an answer to no call: \(answer)")
            }
            try take(answer, call)
        }
    }

    mutating func take(_ answer: Answer, _ call: Int) throws {
        guard !calls[call].asksForMore || calls[call].parts > 0 else { throw Failure("request \(call): \(answer)") }
        switch answer {
        case .part(_, _, let payload), .reply(_, _, let payload):
            guard isHostile || payload.starts(with: self.payload(call, part: calls[call].parts)) || payload.count > 20
            else { throw Failure("request \(call), part \(calls[call].parts), has the reply \(payload)") }
        case .noServer:
            guard isHostile || calls[call].executions == 0 || calls[call].isCancelled else {
                throw Failure("request \(call) had no server, and was received")
            }
        case .serverEnded: break
        }
        if case .part = answer {
            calls[call].parts += 1
            calls[call].asksForMore = false
            figures.parts += 1
        } else {
            calls[call].id = 0
            switch answer {
            case .reply: figures.replies += 1
            case .serverEnded: figures.ended += 1
            default: figures.unserved += 1
            }
        }
    }

    mutating func call() {
        let center = random.below(centers.count)
        guard relays[center] != nil else { return }
        let link = random.below(configurations[center].count)
        let callable = callable[center][link]
        let name =
            callable.isEmpty || random.chance(5)
            ? names[random.below(names.count)] : callable[random.below(callable.count)]
        let number = calls.count
        guard number < 60_000 else { return }
        var bytes = payload(number)
        bytes += [UInt8](repeating: 7, count: random.chance(20) ? random.below(300) : 0)
        let request = Request(name: name, isIdempotent: number % 2 == 0, format: 1, payload: bytes)
        guard case .made(let id) = relays[center]!.request(request, link: link) else { return }
        figures.calls += 1
        trace("\(time) center \(center) calls \(name.text) on link \(link): request \(number), id \(id)")
        calls.append(Call(center: center, link: link, name: name, id: id, madeAt: time))
    }

    mutating func answer() {
        guard !handlers.isEmpty else { return }
        let at = random.below(handlers.count)
        let handler = handlers[at]
        if handler.isCancelled {
            handlers.remove(at: at)
            return
        }
        guard handler.isWanted else { return }
        var payload = payload(handler.call, part: handler.parts)
        if isHostile { payload = [1, 2, 3] }
        payload += [UInt8](repeating: 9, count: random.chance(20) ? random.below(300) : 0)
        switch random.below(10) {
        case 0..<3:
            handlers[at].parts += 1
            handlers[at].isWanted = false
            relays[handler.center]!.answer(.part(code: 0, format: 1, payload: payload), to: handler.id)
            return
        case 3: relays[handler.center]!.answer(.serverEnded, to: handler.id)
        default: relays[handler.center]!.answer(.reply(code: 0, format: 1, payload: payload), to: handler.id)
        }
        handlers.remove(at: at)
    }

    /// A caller that has a part asks for the next one, or a caller does not wait any more.
    mutating func goOn(_ call: Int, cancels: Bool) {
        guard calls[call].id != 0, let relay = relays[calls[call].center] else { return }
        _ = relay
        if cancels {
            figures.cancelled += 1
            trace("\(time) request \(call) is cancelled")
            relays[calls[call].center]!.cancel(call: calls[call].id)
            cancelled[calls[call].center].insert(calls[call].id)
            calls[call].id = 0
            calls[call].isCancelled = true
        } else if calls[call].parts > 0, !calls[call].asksForMore {
            calls[call].asksForMore = true
            relays[calls[call].center]!.goOn(call: calls[call].id)
        }
    }

    // MARK: - Steps

    mutating func deliver(_ wire: Int, to at: Int, index: Int, keep: Bool = false) throws {
        let end = wires[wire].ends[at]
        var frame = keep ? wires[wire].frames[at][index] : wires[wire].frames[at].remove(at: index)
        guard relays[end.center] != nil else { return }
        relays[end.center]!.advance(to: time)
        var bytes = FrameCoding.encode(frame)
        guard let decoded = FrameCoding.decode(bytes, limits: limits), decoded == frame else {
            throw Failure("a frame changes on its way: \(frame)")
        }
        if isHostile, random.chance(30) {
            for _ in 0..<(1 + random.below(2)) where bytes.count > 18 {
                let place = 17 + random.below(bytes.count - 17)
                switch random.below(4) {
                case 0: bytes[place] = 0xFF
                case 1: bytes[place] ^= 1 << UInt8(random.below(8))
                case 2: bytes[place] = bytes[place] &+ 1
                default: bytes.insert(UInt8(random.below(256)), at: place)
                }
            }
            guard let changed = FrameCoding.decode(bytes, limits: limits) else { return }
            precondition(FrameCoding.decode(FrameCoding.encode(changed), limits: limits) == changed, "seed \(seed)")
            frame = changed
        }
        trace("\(time) -> \(end.center) link \(end.link): \(frame.line)")
        let known = relays[end.center]!.peer(ofLink: end.link) != nil
        relays[end.center]!.received(frame, link: end.link)
        if known || relays[end.center]!.peer(ofLink: end.link) != nil { heardAt[end.center][end.link] = time }
    }

    mutating func changeParticipants(_ center: Int) {
        if present[center].count < limits.participants, random.chance(60) {
            lastParticipant += 1
            // The third one's texts are too long, and have letters of two bytes.
            let (role, executable) =
                lastParticipant == 3
                ? ("r" + String(repeating: "ö", count: 40), String(repeating: "ö", count: 40)) : ("role", "program")
            let one = RemoteParticipant(
                id: lastParticipant, pid: Int32(center), uid: 7, role: role, executable: executable)
            present[center][one.id] = one
            relays[center]?.joined(one)
            // No peer accepts its id.
            relays[center]?.joined(
                RemoteParticipant(id: .max - lastParticipant, pid: 1, uid: 1, role: role, executable: executable))
        } else if let id = present[center].keys.sorted().first {
            present[center][id] = nil
            relays[center]?.left(id, random.chance(50) ? .died : .closed)
        }
    }

    mutating func step() throws {
        let center = random.below(centers.count)
        let wire = random.below(wires.count)
        switch random.below(100) {
        case 0..<10: for _ in 0..<(random.chance(10) ? 10 : 1) { call() }
        case 10..<18: answer()
        case 18..<24: if !calls.isEmpty { goOn(random.below(calls.count), cancels: random.chance(25)) }
        case 24: changeParticipants(center)
        case 25..<28:
            let name = names[random.below(names.count)]
            if served[center].remove(name) == nil { served[center].insert(name) }
            // No peer accepts the last two.
            let unsent = ["", String(repeating: "r", count: 256)].map { LinkName($0) }
            relays[center]?.setServed(Array(served[center]) + unsent)
        case 28..<58: try run(center, most: 1 + random.below(12))
        case 58..<86:
            let at = random.below(2)
            let count = wires[wire].frames[at].count
            guard count > 0 else { return }
            let index = random.chance(75) ? 0 : random.below(count)
            switch random.below(20) {
            case 0: wires[wire].frames[at].remove(at: index)
            case 1: try deliver(wire, to: at, index: index, keep: true)
            default: try deliver(wire, to: at, index: index)
            }
        case 86..<93: time += UInt64(1 + random.below(400))
        case 93: if random.chance(30) { time += 6000 }
        case 94: if wires[wire].isUp, random.chance(40) { disconnect(wire) }
        case 95..<97: if !wires[wire].isUp { connect(wire) }
        case 97: if relays[center] != nil, random.chance(25) { crash(center) }
        default: if relays[center] == nil { start(center) }
        }
    }

    mutating func flow() throws {
        for _ in 0..<200 {
            var isMoved = false
            for number in relays.indices { try run(number, most: 200, isCalm: true) }
            for wire in wires.indices {
                for at in 0..<2 {
                    while !wires[wire].frames[at].isEmpty {
                        isMoved = true
                        try deliver(wire, to: at, index: 0)
                    }
                }
            }
            if !isMoved { return }
        }
    }

    mutating func play() throws {
        for number in served.indices { served[number] = Set(names.filter { _ in random.chance(70) }) }
        for number in relays.indices { relays[number]?.setServed(Array(served[number])) }
        for wire in wires.indices where random.chance(80) { connect(wire) }
        if random.chance(80) { try flow() }
        for _ in 0..<(200 + random.below(400)) { try step() }
        for number in relays.indices where relays[number] == nil { start(number) }
        for wire in wires.indices where !wires[wire].isUp { connect(wire) }
        // All handlers answer, and all callers take all parts.
        for _ in 0..<60 {
            try flow()
            time += 301
            for _ in 0..<(2 * handlers.count) { answer() }
            for call in calls.indices { goOn(call, cancels: false) }
        }
        guard !isHostile else { return }
        if let call = calls.firstIndex(where: { $0.id != 0 }) { throw Failure("request \(call) has not ended") }
        if let handler = handlers.first(where: { !$0.isCancelled }) {
            throw Failure("the server of request \(handler.call) waits, and its caller does not")
        }
        for (number, relay) in relays.enumerated() {
            for link in configurations[number].indices {
                let (own, ofPeer) = relay!.calls(onLink: link)
                // A side that keeps to the rules is never refused.
                guard relay!.figures(ofLink: link).refused == 0 else {
                    throw Failure("center \(number) has refused requests on link \(link)")
                }
                guard own == 0, ofPeer == 0 else {
                    throw Failure("center \(number) still has \(own) calls on link \(link), and answers \(ofPeer)")
                }
            }
        }
        try checkNames()
    }

    /// Each link may call what its peer serves.
    private func checkNames() throws {
        for wire in wires {
            for at in 0..<2 {
                let (here, there) = (wire.ends[at], wire.ends[1 - at])
                let isShown =
                    configurations[there.center][there.link].announces
                    && configurations[here.center][here.link].shows
                let expected = isShown ? present[there.center] : [:]
                if here.center == 0 || there.center == 0 {
                    guard shown[here.center][here.link].allSatisfy({ expected[$0.key] == $0.value }) else {
                        throw Failure("center \(here.center) shows one that is not present")
                    }
                } else if shown[here.center][here.link] != expected {
                    throw Failure(
                        "center \(here.center) shows \(shown[here.center][here.link].keys.sorted()) on link "
                            + "\(here.link), not \(present[there.center].keys.sorted())")
                }
                let serves = configurations[there.center][there.link].serves
                let mayCall = configurations[here.center][here.link].calls
                guard !mayCall.isEmpty else { continue }
                let callableThere = served[there.center].filter { serves.matches($0) && mayCall.matches($0) }.sorted()
                guard callable[here.center][here.link] == callableThere else {
                    throw Failure(
                        "center \(here.center) may call \(callable[here.center][here.link].map(\.text)) on link "
                            + "\(here.link), not \(callableThere.map(\.text))")
                }
            }
        }
    }
}
