// One schedule: up to five centers, their relays and links, and everything that can go wrong between them, in an order
// that a seed decides.

import Glibc

struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// One end of a link: a link of a relay.
struct End { var center: Int, link: Int }
struct Wire {
    var ends: [End]
    var isUp = false
    /// On the way to end 0 and to end 1.
    var frames: [[Frame]] = [[], []]
    /// How many frames each end has sent since the links came to rest.
    var idle = [0, 0]
}

/// Relays, and the wires between them.
protocol Wired {
    var relays: [RelayCore?] { get set }
    var wires: [Wire] { get set }
    /// How many there were.
    var sessions: UInt64 { get set }
    var random: Random { get set }
}

extension Wired {
    mutating func connect(_ wire: Int) {
        wires[wire].isUp = true
        for end in wires[wire].ends where relays[end.center] != nil {
            sessions += 1
            relays[end.center]!.connected(end.link, session: sessions)
        }
    }

    mutating func disconnect(_ wire: Int) {
        wires[wire].isUp = false
        for end in wires[wire].ends { relays[end.center]?.disconnected(end.link) }
        // Some frames arrive in the next connection: from a server that had them, or by another route.
        for at in 0..<2 where random.chance(70) { wires[wire].frames[at] = [] }
    }
}

struct Schedule: Wired {
    enum Topology: Int, CaseIterable { case pair, triangle, star, ringOfFive, twoLinks, itself, line }

    /// Which post a content came from.
    struct Stamp: Equatable {
        var center: Int32, number: UInt32
        init(_ content: Content) { (center, number) = (content.pid, content.uid) }
    }
    struct Standby {
        var log: StandbyLog
        /// Numbers the names.
        var core: RelayCore
    }
    struct AccountKey: Hashable { var origin: Int, name: Int, sequence: UInt64 }

    let seed: UInt64
    var random: Random
    let topology: Topology
    /// Links pass different names. Then only what holds for each name is checked.
    let isMixed: Bool
    /// All links were compared before the first post.
    let isEarly: Bool
    /// No ring is lapped, so nothing may be lost.
    let isRoomy: Bool
    /// The relays' observers deliver their own posts, too.
    let ownAreRead: Bool
    /// After the steps, all centers post without a pause for a second: the values must become equal meanwhile.
    let isBusy: Bool
    /// Center 0 accepts smaller payloads than the others post.
    let isSized: Bool
    /// No relay dies, and no post fails.
    var isCalm = false
    /// The links of center 0 are without loss, for names that begin with "a": its relay never dies.
    let isLossless: Bool
    /// Of these links, in their order.
    var holds: [Hold] = []
    /// A link has let go.
    var hasLetGo = false
    /// Since when posts of center 0 wait although its relay has read everything, without a step of a link.
    var blockedSince: UInt64?
    /// Milliseconds until they were.
    var equalAfter = 0
    /// Frames are changed on their way, as a peer could send them. Then the relays must only go on.
    let isHostile: Bool
    /// Each center has a relay that stands by. What it reads, and when it dies, is decided by a stream of its own.
    var standbys: [Standby] = []
    var standbyRandom: Random
    var centers: [SimulatedCenter] = []
    var relays: [RelayCore?] = []
    var wires: [Wire] = []
    var time: UInt64 = 1000
    var skew: [Int64] = []
    var sessions: UInt64 = 0
    /// A relay was away for longer than its ring reaches back: its losses are upper bounds.
    var isUncertain = false
    let configurations: [[LinkConfiguration]]
    let limits: LinkLimits
    /// Of center 0.
    let smallLimits: LinkLimits
    let names: [LinkName] = ["a", "b", "ab"]

    // The checker.
    /// [receiver][origin]: the position that was posted last.
    var latest: [[Int64]]
    /// [receiver][origin][name]: the positions that were posted, and how many.
    var latestOfName: [[[Int64]]]
    var delivered: [[[UInt64]]]
    var values = 0
    /// [receiver]: which notifications came as values.
    var cameAsValue: [Set<AccountKey>] = []

    init(seed: UInt64, isHostile: Bool, hasStandbys: Bool) {
        self.seed = seed
        standbyRandom = Random(seed: seed ^ 0x57AD)
        self.isHostile = isHostile
        var random = Random(seed: seed)
        topology = Topology.allCases[random.below(Topology.allCases.count)]
        isMixed = random.chance(10)
        isEarly = random.chance(50)
        isRoomy = random.chance(40)
        let pairs: [(Int, Int)] =
            switch topology {
            case .pair: [(0, 1)]
            case .triangle: [(0, 1), (1, 2), (2, 0)]
            case .star: [(0, 1), (0, 2), (0, 3), (0, 4)]
            case .ringOfFive: [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
            case .twoLinks: [(0, 1), (0, 1)]
            case .itself: [(0, 0), (0, 1)]
            case .line: [(0, 1), (1, 2), (2, 3)]
            }
        let count = 1 + pairs.map { max($0.0, $0.1) }.max()!
        var configurations = [[LinkConfiguration]](repeating: [], count: count)
        for (number, (left, right)) in pairs.enumerated() {
            let list = isMixed && random.chance(60) ? NameList(prefixes: [random.chance(50) ? "a" : "b"]) : NameList.all
            let link = LinkConfiguration(
                name: "link-\(number)", sends: list, accepts: list, retained: !isMixed || random.chance(80))
            var ends = [End(center: left, link: configurations[left].count)]
            configurations[left].append(link)
            if left != right {
                ends.append(End(center: right, link: configurations[right].count))
                configurations[right].append(link)
            }
            wires.append(Wire(ends: ends))
        }
        var limits = LinkLimits()
        limits.window = 1 + random.below(8)
        limits.batch = 1 + random.below(4)
        limits.inbox = 1 + random.below(6)
        limits.chunk = 1 + random.below(4)
        isSized = random.chance(10)
        isBusy = random.chance(4)
        if isBusy {
            limits.window = 64
            limits.batch = 1 + random.below(16)
            limits.inbox = 64 + random.below(64)
            limits.chunk = 16
        }
        limits.table = 1 + random.below(4)
        limits.log = [64, 256, 1024][random.below(3)]
        // A stream of its own: other schedules stay as they are.
        var loss = Random(seed: ~seed)
        isLossless =
            loss.chance(15) && !isHostile && !isMixed && !isSized && [.pair, .star, .line].contains(topology)
        if isLossless {
            let timeout: UInt64 = loss.chance(70) ? 1 << 40 : UInt64(300 + loss.below(3000))
            holds = configurations[0].map { _ in Hold(timeout: timeout) }
        }
        ownAreRead = random.chance(30)
        self.limits = limits
        var small = limits
        small.payload = 12
        // Either the center takes no larger payloads, or its links don't.
        let isLimited = isSized && loss.chance(40)
        smallLimits = isSized && !isLimited ? small : limits
        if isLimited { for link in configurations[0].indices { configurations[0][link].payload = small.payload } }
        self.configurations = configurations
        latest = .init(repeating: .init(repeating: -1, count: count), count: count)
        latestOfName = .init(
            repeating: .init(repeating: .init(repeating: -1, count: names.count), count: count), count: count)
        cameAsValue = .init(repeating: [], count: count)
        delivered = .init(
            repeating: .init(repeating: .init(repeating: 0, count: names.count), count: count), count: count)
        for number in 0..<count {
            let slots: UInt64 = isRoomy ? 4096 : [4, 8, 16, 64][random.below(4)]
            centers.append(
                SimulatedCenter(
                    origin: Origin(incarnation: UInt64(100 + number), host: "host\(number)", center: "player"),
                    slots: slots))
            skew.append(0)
            relays.append(nil)
        }
        self.random = random
        if isLossless {
            centers[0].heldNames = NameList(prefixes: ["a"])
            centers[0].heldFrom = holds.map { _ in 0 }
        }
        if hasStandbys {
            standbys = centers.map { center in
                Standby(
                    log: StandbyLog(at: 0, limit: 8 * center.slots),
                    core: RelayCore(center: center.origin, slots: center.slots, links: [], position: 0))
            }
        }
        for number in 0..<count { start(number) }
    }

    // MARK: - Relays

    func limits(of center: Int) -> LinkLimits { center == 0 ? smallLimits : limits }

    mutating func start(_ number: Int) {
        let center = centers[number]
        var core: RelayCore
        if let checkpoint = center.checkpoint {
            if standbyRandom.chance(90) { follow(number) }
            var log = standbys.isEmpty ? nil : standbys[number].log
            if let kept = log, kept.begin >= center.oldest || kept.end < center.oldest { log = nil }
            let oldest = log?.begin ?? center.oldest
            if checkpoint.position < oldest { isUncertain = true }
            core = RelayCore(
                checkpoint: checkpoint, oldest: oldest, slots: center.slots, links: configurations[number],
                limits: limits(of: number))
            let before = log?.records(before: center.end) { core.number(of: standbys[number].core.name($0)) } ?? []
            core.replay(before + center.records(from: log?.end ?? oldest).map { $0.record(&core) })
        } else {
            core = RelayCore(
                center: center.origin, slots: center.slots, links: configurations[number], position: center.end,
                limits: limits(of: number))
            // A relay counts from its first checkpoint on. Here that is the beginning of the center.
            if case .store(let checkpoint) = core.next(center) {
                centers[number].checkpoint = checkpoint
                core.stored()
            }
        }
        trace("\(time) start \(number) at \(core.cursor) of \(center.oldest)..<\(center.end)")
        core.advance(to: time)
        core.refresh(center.retained(&core), date: clock(number))
        relays[number] = core
        for (wire, link) in wires.enumerated() where link.isUp { connect(wire) }
    }

    /// The center's second relay reads everything that is in the ring.
    mutating func follow(_ number: Int) {
        guard !standbys.isEmpty else { return }
        let center = centers[number]
        if standbys[number].log.end < center.oldest { standbys[number].log.lapped(before: center.oldest) }
        for posted in center.records(from: standbys[number].log.end) {
            standbys[number].log.read(posted.record(&standbys[number].core))
        }
        standbys[number].log.readThrough(center.end)
    }

    /// It reads now and then, or dies, and another one begins.
    mutating func stepStandby(_ number: Int) {
        guard !standbys.isEmpty else { return }
        if standbyRandom.chance(95) { follow(number) }
        if standbyRandom.chance(20), let stored = centers[number].checkpoint {
            standbys[number].log.forget(before: stored.position)
        }
        if standbyRandom.chance(1) {
            standbys[number].log = StandbyLog(
                at: centers[number].oldest, limit: 8 * centers[number].slots)
        }
    }

    mutating func crash(_ number: Int) {
        if isLossless, number == 0 { return }
        trace("\(time) crash \(number)")
        relays[number] = nil
        for wire in wires.indices where wires[wire].ends.contains(where: { $0.center == number }) {
            // What it has sent may still arrive.
            for (at, end) in wires[wire].ends.enumerated() {
                if end.center == number { wires[wire].frames[at] = [] }
            }
        }
    }

    func clock(_ number: Int) -> UInt64 {
        UInt64(clamping: Int64(1_000_000_000_000) + Int64(time) * 1_000_000 + skew[number])
    }

    // MARK: - Steps

    mutating func post(_ number: Int, isRetained: Bool? = nil) {
        if centers[number].isHeld { return }
        let name = random.below(names.count)
        let isRetained = isRetained ?? random.chance(35)
        let isCleared = isRetained && random.chance(25)
        let position = centers[number].end
        let content = Content(
            subject: random.chance(10) ? "subject" : "", pid: Int32(number), uid: isCleared ? 0 : UInt32(position),
            postedAt: clock(number),
            payload: isCleared ? [] : [UInt8](repeating: UInt8(truncatingIfNeeded: position), count: random.below(24)))
        centers[number].post(names[name], content, isRetained: isRetained, isCleared: isCleared, relayed: nil)
        trace(
            "\(time) post \(number) #\(position) \(names[name].text)"
                + (isCleared ? " cleared" : isRetained ? " retained" : "")
        )
        stepStandby(number)
    }

    /// Reads up to `most` notifications for the relay, and then carries out up to as many outputs.
    mutating func run(_ number: Int, most: Int) throws {
        guard relays[number] != nil else { return }
        relays[number]!.advance(to: time)
        for link in configurations[number].indices {
            relays[number]!.setWritable(isCalm || random.chance(90), link: link)
        }
        read(number, most: most)
        try carryOut(number, most: most)
        try hold(number)
    }

    private mutating func carryOut(_ number: Int, most: Int) throws {
        for _ in 0..<most {
            guard let output = relays[number]!.next(centers[number]) else { return }
            switch output {
            case .dialog: break
            case .store(let checkpoint):
                if !isCalm, random.chance(10), centers[number].checkpoint != nil, !(isLossless && number == 0) {
                    return crash(number)
                }
                if centers[number].isHeld, random.chance(70) {
                    relays[number]!.notStored(until: time + UInt64(random.below(30)))
                    continue
                }
                centers[number].checkpoint = checkpoint
                relays[number]!.stored()
            case .post(let post):
                if centers[number].isHeld {
                    relays[number]!.notPosted(until: time + 1)
                    continue
                }
                if !isCalm, random.chance(5) {
                    relays[number]!.notPosted(until: random.chance(50) ? time + UInt64(random.below(300)) : 0)
                    return
                }
                // This center can't hold it.
                if !isCalm, !isRoomy, !isMixed, !isLossless, !post.isRetained, random.chance(1) {
                    relays[number]!.discarded()
                    continue
                }
                try take(post, at: number)
                if !isCalm, random.chance(1), !(isLossless && number == 0) { return crash(number) }
            case .send(let link, let frame):
                try send(frame, center: number, link: link)
            }
        }
    }

    mutating func read(_ number: Int, most: Int) {
        if isLossless, number == 0 {
            for posted in centers[0].records(from: max(relays[0]!.cursor, centers[0].oldest)).prefix(most)
            where centers[0].heldNames.matches(posted.name) {
                for link in holds.indices { holds[link].read(posted.position, now: time) }
            }
        }
        centers[number].read(
            &relays[number]!, most: most, date: clock(number), ownAreRead: ownAreRead, hasContents: random.chance(80))
    }

    /// Moves the lossless observers of center 0.
    mutating func hold(_ number: Int) throws {
        guard isLossless, number == 0, let relay = relays[0] else { return }
        var steps = 0
        for link in holds.indices {
            let step = holds[link].update(
                acknowledged: relay.acknowledged(onLink: link), oldest: centers[0].oldest, end: relay.cursor, now: time)
            switch step {
            case .none: break
            case .pass(let position): centers[0].heldFrom[link] = position + 1
            case .letGo:
                hasLetGo = true
                centers[0].heldFrom[link] = nil
            case .hold(let position): centers[0].heldFrom[link] = position
            }
            if step != .none { trace("\(time) link \(link) of center 0: \(step)") }
            steps += step == .none ? 0 : 1
        }
        guard centers[0].isHeld, steps == 0, relay.cursor == centers[0].end else {
            blockedSince = nil
            return
        }
        blockedSince = blockedSince ?? time
        if time >= blockedSince! + holds[0].timeout { throw Failure("posts wait for longer than the timeout") }
    }

    mutating func take(_ post: Post, at number: Int) throws {
        let text = relays[number]!.name(post.name)
        if isHostile {
            let position = centers[number].post(
                text, post.content, isRetained: post.isRetained, isCleared: post.isCleared, relayed: post.relayed)
            relays[number]!.posted(at: position)
            return
        }
        let mark = post.relayed
        let origin = Int(mark.incarnation) - 100
        guard let name = names.firstIndex(of: text), centers.indices.contains(origin) else {
            throw Failure("center \(number) is to post what no center has: \(post)")
        }
        let sequence = Int64(mark.sequence)
        guard centers[number].checkpoint?.origins.contains(where: { $0.origin == centers[origin].origin }) == true
        else {
            throw Failure("an origin that is not stored: \(post)")
        }
        guard mark.lostAt <= centers[number].end else {
            throw Failure("a loss that became known later: \(post)")
        }
        if post.relayed.isValue {
            values += 1
            let value = post.relayed.version?.sequence ?? 0
            cameAsValue[number].insert(AccountKey(origin: origin, name: name, sequence: value))
            guard post.isRetained else { throw Failure("a value is not retained: \(post)") }
        } else {
            guard origin != number else { throw Failure("center \(number) receives its own notification #\(sequence)") }
            guard latestOfName[number][origin][name] < sequence || isUncertain && isCyclic else {
                throw Failure(
                    "center \(number) posts #\(sequence) of center \(origin), name \(text.text), "
                        + "after #\(latestOfName[number][origin][name])"
                )
            }
            let isTwice = cameAsValue[number].contains(
                AccountKey(origin: origin, name: name, sequence: mark.sequence))
            guard !isTwice || isUncertain || isCyclic else {
                throw Failure("center \(number) posts #\(sequence) of center \(origin) as a value and again")
            }
            latestOfName[number][origin][name] = sequence
            guard isMixed || latest[number][origin] < sequence || isUncertain && isCyclic else {
                throw Failure(
                    "center \(number) posts #\(sequence) of center \(origin) after #\(latest[number][origin])")
            }
            latest[number][origin] = max(latest[number][origin], sequence)
            guard Int(sequence) < centers[origin].history.count,
                case let posted = centers[origin].history[Int(sequence)], posted.name == text,
                posted.relayed == nil, posted.content == post.content
            else { throw Failure("center \(number) posts what center \(origin) never posted: \(post)") }
            delivered[number][origin][name] += 1
        }
        if isSized, number == 0, post.content.payloadCount > 12 {
            throw Failure("center 0 posts a payload larger than its limit: \(post)")
        }
        let position = centers[number].post(
            text, post.content, isRetained: post.isRetained, isCleared: post.isCleared, relayed: post.relayed)
        trace(
            "\(time) center \(number) #\(position) has \(origin)#\(sequence) \(text.text) count \(mark.count) "
                + "lost \(mark.lost)"
                + (post.relayed.isValue ? " value" : "") + (post.isCleared ? " cleared" : "")
                + (post.isRetained ? " retained" : "")
        )
        relays[number]!.posted(at: position)
        stepStandby(number)
    }

    var isCyclic: Bool { [.triangle, .ringOfFive, .twoLinks].contains(topology) }

    mutating func send(_ frame: Frame, center: Int, link: Int) throws {
        for (number, wire) in wires.enumerated() where wire.isUp {
            for (at, end) in wire.ends.enumerated() where end.center == center && end.link == link {
                wires[number].idle[at] += 1
                let to = wire.ends.count == 1 ? 0 : 1 - at
                if wires[number].frames[to].count < 60 { wires[number].frames[to].append(frame) }
            }
        }
    }

    mutating func deliver(_ wire: Int, to at: Int, index: Int, keep: Bool = false) throws {
        let end = wires[wire].ends[at]
        var frame = keep ? wires[wire].frames[at][index] : wires[wire].frames[at].remove(at: index)
        guard relays[end.center] != nil else { return }
        relays[end.center]!.advance(to: time)
        // Frames of items are bytes alone until they are decoded.
        let limits = limits(of: end.center)
        guard let decoded = FrameCoding.decode(FrameCoding.encode(frame), limits: limits), decoded == frame else {
            // A changed greeting may promise more than the receiver takes.
            if isHostile { return }
            throw Failure("a frame changes on its way: \(frame)")
        }
        frame = decoded
        if isHostile, random.chance(30) {
            guard let changed = change(frame, limits) else { return }
            frame = changed
        }
        trace("\(time) -> \(end.center) link \(end.link): \(frame.line)")
        relays[end.center]!.received(frame, link: end.link)
    }

    /// The frame with some bytes changed; `nil`: the decoder refuses it. What it accepts, it must write and read again.
    private mutating func change(_ frame: Frame, _ limits: LinkLimits) -> Frame? {
        var bytes = FrameCoding.encode(frame)
        for _ in 0..<(1 + random.below(3)) {
            // The first 17 bytes say which session it is.
            let at =
                random.chance(95) && bytes.count > 18 ? 17 + random.below(bytes.count - 17) : random.below(bytes.count)
            switch random.below(6) {
            case 0: bytes[at] = 0xFF
            case 1: bytes[at] = 0
            case 2: bytes[at] ^= 1 << UInt8(random.below(8))
            case 3: bytes[at] = bytes[at] &+ 1
            case 4:
                bytes.insert(
                    contentsOf: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F].suffix(1 + random.below(9)),
                    at: at)
            default: bytes.removeLast(random.below(bytes.count - 1))
            }
        }
        guard let changed = FrameCoding.decode(bytes, limits: limits) else { return nil }
        precondition(FrameCoding.decode(FrameCoding.encode(changed), limits: limits) == changed, "seed \(seed)")
        return changed
    }

    mutating func step() throws {
        let center = random.below(centers.count)
        let wire = random.below(wires.count)
        switch random.below(100) {
        case 0..<22: post(center)
        case 22..<24: for _ in 0..<(1 + random.below(20)) { post(center) }
        case 24..<55: try run(center, most: 1 + random.below(12))
        case 55..<84:
            let at = random.below(wires[wire].ends.count)
            let count = wires[wire].frames[at].count
            guard count > 0 else { return }
            let index = random.chance(75) ? 0 : random.below(count)
            switch random.below(20) {
            case 0: wires[wire].frames[at].remove(at: index)
            case 1: try deliver(wire, to: at, index: index, keep: true)
            default: try deliver(wire, to: at, index: index)
            }
        case 84..<91: time += UInt64(1 + random.below(400))
        case 91..<92: time += 6000
        case 92..<94: if wires[wire].isUp { disconnect(wire) }
        case 94..<96: if !wires[wire].isUp { connect(wire) }
        case 96: if relays[center] == nil { start(center) } else if random.chance(50) { crash(center) }
        case 97..<99: if relays[center] == nil { start(center) }
        default: skew[center] = Int64(random.below(2_000_000)) * 1_000_000 - 1_000_000_000_000
        }
    }

    /// Everything works again. Returns once nothing but greetings and beats is sent.
    mutating func heal(limit: Int) throws {
        for number in relays.indices where relays[number] == nil { start(number) }
        for wire in wires.indices where !wires[wire].isUp { connect(wire) }
        var quiet = 0
        for _ in 0..<limit {
            var isBusy = false
            // Rounds of frames without time in between.
            for _ in 0..<400 {
                var moved = false
                for number in relays.indices {
                    if relays[number] == nil { start(number) }
                    let (end, cursor) = (centers[number].end, relays[number]!.cursor)
                    try run(number, most: 64)
                    if centers[number].end != end || relays[number]?.cursor != cursor { isBusy = true }
                }
                for wire in wires.indices {
                    for at in wires[wire].ends.indices {
                        while !wires[wire].frames[at].isEmpty {
                            moved = true
                            switch wires[wire].frames[at][0].body {
                            case .greeting, .beat: break
                            default: isBusy = true
                            }
                            try deliver(wire, to: at, index: 0)
                        }
                    }
                }
                if !moved { break }
            }
            time += 301
            quiet = isBusy ? 0 : quiet + 1
            // The first two rounds may still acknowledge, and tell of a generation.
            if quiet <= 2 { for wire in wires.indices { wires[wire].idle = [0, 0] } }
            // A beat a second is all that an idle link needs to notice what it lacks. The 1.8 s have at most two.
            guard quiet >= 8 else { continue }
            guard let wire = wires.first(where: { $0.idle.max()! > 2 }), !isHostile, wire.ends.count == 2 else {
                return
            }
            throw Failure("an idle link sends \(wire.idle) frames in 1.8 s")
        }
        if !isHostile { throw Failure("the links do not come to rest") }
    }

    /// Everything works again, and each center posts all the time.
    mutating func beBusy() throws {
        for number in relays.indices where relays[number] == nil { start(number) }
        for wire in wires.indices where !wires[wire].isUp { connect(wire) }
        isCalm = true
        defer { isCalm = false }
        for round in 1...100 {
            for number in relays.indices {
                post(number, isRetained: false)
                try run(number, most: 200)
            }
            for wire in wires.indices {
                for at in wires[wire].ends.indices {
                    for _ in wires[wire].frames[at].indices { try deliver(wire, to: at, index: 0) }
                }
            }
            time += 10
            if differing() != nil { equalAfter = 10 * round }
        }
        guard !isMixed, !isHostile, !isSized, !isLossless, let difference = differing() else { return }
        throw Failure("after a second of posts, \(difference)")
    }

    mutating func play() throws {
        if isEarly { try heal(limit: 200) }
        for _ in 0..<(40 + random.below(160)) { try step() }
        if isBusy { try beBusy() }
        try heal(limit: isHostile ? 8 : 200)
        if !isHostile { try check() }
    }

    // MARK: - The end

    func check() throws {
        for (receiver, relay) in relays.enumerated() {
            let relay = relay!
            for origin in centers.indices where origin != receiver {
                for (number, name) in names.enumerated() {
                    try check(relay, receiver, origin, number, name)
                }
            }
        }
        if !isMixed, !isSized, let difference = differing() { throw Failure(difference) }
        guard let link = holds.indices.first(where: { !holds[$0].isEmpty }) else { return }
        throw Failure("link \(link) of center 0 still waits for an acknowledgement")
    }

    /// Which retained value is not the same in all centers.
    func differing() -> String? {
        for name in names {
            let stamps = centers.map { center in
                center.values[name].map { Stamp(center.history[$0].content) }
            }
            guard stamps.contains(where: { $0 != stamps[0] }) else { continue }
            let lines = stamps.map { $0.map { "#\($0.number) of center \($0.center)" } ?? "none" }
            return "the centers keep different values of \(name.text): \(lines)"
        }
        return nil
    }

    private func check(_ relay: RelayCore, _ receiver: Int, _ origin: Int, _ number: Int, _ name: LinkName) throws {
        let incarnation = centers[origin].origin.incarnation
        let truth = centers[origin].own[name] ?? 0
        let what = "center \(receiver), name \(name.text) of center \(origin)"
        guard let account = relay.account(of: incarnation, name: name) else {
            if isMixed || isUncertain { return }
            // A relay counts from its beginning on.
            guard truth == 0 else { throw Failure("\(what): \(truth) were posted, and nothing is known") }
            return
        }
        let received = delivered[receiver][origin][number]
        if isUncertain {
            guard received + account.lost + account.base >= account.count else {
                throw Failure("\(what): \(received) received, \(account)")
            }
            // What is beyond the truth is said to be uncertain.
            guard isMixed || account.count <= truth + account.base + account.lostUnsure else {
                throw Failure("\(what): \(truth) were posted, \(received) received, \(account)")
            }
            return
        }
        guard received + account.lost + account.base == account.count else {
            throw Failure("\(what): \(received) received, \(account)")
        }
        if !isMixed {
            guard account.count == truth else { throw Failure("\(what): \(truth) were posted, \(account)") }
        }
        if isLossless, !hasLetGo, origin == 0, name.text.hasPrefix("a"), account.lost > 0,
            topology != .line || receiver == 1
        {
            throw Failure("\(what): a link without loss has lost \(account)")
        }
        guard account.lostUnsure == 0 else { throw Failure("\(what): losses are exact, \(account)") }
        if isEarly {
            guard isMixed || account.base == 0 else { throw Failure("\(what): owed from the first on, \(account)") }
            if isRoomy, !isMixed, !isSized, account.lost > 0 { throw Failure("\(what): the ring has all, \(account)") }
        }
    }
}
