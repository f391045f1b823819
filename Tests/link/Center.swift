// A center in memory: a ring that goes round, retained values, and what an observer of it would have missed.

#if canImport(TidingsLink)
    import TidingsLink
#endif

struct Random {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678_9ABC_DEF1
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    /// True in `percent` of 100 cases.
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

struct Posted {
    var position: UInt64
    var name: LinkName
    var isRetained: Bool
    var isCleared: Bool
    var relayed: Relayed?
    var content: Content

    /// As a relay reads it: names are numbers of that relay.
    func record(_ relay: inout RelayCore) -> RingRecord {
        var text = name.text
        let number = text.withUTF8 { relay.number(of: UnsafeRawBufferPointer($0)) }
        return RingRecord(
            position: position, name: number ?? -1, postedAt: content.postedAt, isRetained: isRetained,
            isCleared: isCleared, relayed: relayed)
    }
}

struct SimulatedCenter: RingReading {
    let origin: Origin
    let slots: UInt64
    /// Everything that was ever posted. The last `slots` of these are in the ring.
    private(set) var history: [Posted] = []
    private(set) var values: [LinkName: Int] = [:]
    /// How many notifications of each name were posted here, without those of relays.
    private(set) var own: [LinkName: UInt64] = [:]
    var checkpoint: Checkpoint?
    /// For each link without loss: its lossless observer takes these names, and still needs those from here on. `nil`:
    /// it is closed.
    var heldFrom: [UInt64?] = []
    var heldNames = NameList()

    init(origin: Origin, slots: UInt64) {
        self.origin = origin
        self.slots = slots
    }

    var end: UInt64 { UInt64(history.count) }
    var oldest: UInt64 { end > slots ? end - slots : 0 }

    /// A post would overwrite what a lossless observer needs.
    var isHeld: Bool {
        guard end >= slots, heldNames.matches(history[Int(end - slots)].name) else { return false }
        return heldFrom.contains { $0.map { $0 <= end - slots } ?? false }
    }

    @discardableResult
    mutating func post(
        _ name: LinkName, _ content: Content, isRetained: Bool, isCleared: Bool, relayed: Relayed?
    ) -> UInt64 {
        let position = end
        history.append(
            Posted(
                position: position, name: name, isRetained: isRetained, isCleared: isCleared, relayed: relayed,
                content: content))
        if isRetained { values[name] = isCleared ? nil : Int(position) }
        if relayed == nil { own[name, default: 0] += 1 }
        return position
    }

    func content(at position: UInt64) -> Content? {
        position >= oldest && position < end ? history[Int(position)].content : nil
    }

    func value(of name: LinkName) -> (position: UInt64, content: Content)? {
        values[name].map { (UInt64($0), history[$0].content) }
    }

    func retained(_ relay: inout RelayCore) -> [RingRecord] {
        values.values.sorted().map { history[$0].record(&relay) }
    }

    func records(from position: UInt64) -> ArraySlice<Posted> {
        history[Int(min(position, end))...]
    }

    /// What an observer at `position` has missed, by name.
    func missed(from position: UInt64, _ relay: inout RelayCore) -> [Int: UInt64] {
        var counts: [Int: UInt64] = [:]
        for posted in history[Int(position)..<Int(oldest)] {
            if let name = relay.number(of: posted.name) { counts[name, default: 0] += 1 }
        }
        return counts
    }

    /// Lets a relay read up to `most` notifications, as a driver does.
    ///
    /// - Parameter ownAreRead: the observer delivers the relay's own posts, too.
    func read(_ relay: inout RelayCore, most: Int = .max, date: UInt64, ownAreRead: Bool, hasContents: Bool = true) {
        if relay.cursor < oldest {
            relay.missed(missed(from: relay.cursor, &relay), before: oldest)
            relay.refresh(retained(&relay), date: date)
        }
        var end = relay.cursor
        for posted in records(from: relay.cursor).prefix(most) {
            end = posted.position + 1
            if !ownAreRead, relay.isOwnPost(posted.position) { continue }
            let record = posted.record(&relay)
            if hasContents {
                posted.content.withView { relay.read(record, $0) }
            } else {
                relay.read(record)
            }
        }
        relay.readThrough(end)
    }
}
