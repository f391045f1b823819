// What a relay has counted: an account for each name of each origin, its own center included.

/// How far a name of an origin has come. Everything up to `sequence` has been posted here, was lost, or is not owed.
package struct Account: Hashable, Sendable {
    /// The origin's position of the latest notification that was posted here or lost.
    package var sequence: UInt64
    /// The count of that notification.
    package var count: UInt64
    /// The count with which this center's knowledge began.
    package var base: UInt64
    /// How many were lost since then, in all.
    package var lost: UInt64 = 0
    /// How many of these were lost at most: the true number may be smaller.
    package var lostUnsure: UInt64 = 0
    /// A loss of counts below this one may be an upper bound.
    package var unsure: UInt64 = 0
    /// The position of this center at which the latest loss became known; 0: there was none.
    package var lostAt: UInt64 = 0
    /// `lost` before that position.
    package var lostBefore: UInt64 = 0

    package init(sequence: UInt64, count: UInt64, base: UInt64, unsure: UInt64 = 0) {
        self.sequence = sequence
        self.count = count
        self.base = base
        self.unsure = unsure
    }

    /// Advances to a notification that this relay will not get any more, or to the one before it.
    mutating func lose(through count: UInt64, sequence: UInt64, isUnsure: Bool, at position: UInt64) {
        guard count > self.count else { return }
        addLoss(count - self.count, at: position)
        if isUnsure { lostUnsure = lostUnsure.adding(count - self.count) }
        self.count = count
        self.sequence = max(self.sequence, sequence)
    }

    mutating func addLoss(_ number: UInt64, at position: UInt64) {
        if lost == 0 || lostAt != position { lostBefore = lost }
        lost = lost.adding(number)
        lostAt = position
    }
}

struct AccountRecord: Sendable {
    let origin: Int
    let name: Int
    var account: Account
    /// The position that the relay before this one posted last; 0: none.
    var floor: UInt64 = 0
}

/// All accounts. An account keeps its number, so a walk through them can go on after others were added.
struct AccountTable: Sendable {
    var records: [AccountRecord] = []
    /// Of the center's own names, by the number of the name; -1: none.
    private var own: [Int32] = []
    /// Of other origins.
    private var numbers: [UInt64: Int32] = [:]

    var count: Int { records.count }

    subscript(number: Int) -> Account {
        get { records[number].account }
        set { records[number].account = newValue }
    }

    func number(origin: Int, name: Int) -> Int? {
        if origin == 0 {
            guard name < own.count, own[name] >= 0 else { return nil }
            return Int(own[name])
        }
        return numbers[UInt64(origin) << 32 | UInt64(name)].map(Int.init)
    }

    subscript(origin: Int, name: Int) -> Account? {
        number(origin: origin, name: name).map { records[$0].account }
    }

    /// Returns its number.
    @discardableResult
    mutating func set(_ account: Account, origin: Int, name: Int) -> Int {
        if let number = number(origin: origin, name: name) {
            records[number].account = account
            return number
        }
        records.append(AccountRecord(origin: origin, name: name, account: account))
        let number = Int32(records.count - 1)
        if origin == 0 {
            while own.count <= name { own.append(-1) }
            own[name] = number
        } else {
            numbers[UInt64(origin) << 32 | UInt64(name)] = number
        }
        return Int(number)
    }
}

/// One origin, as a relay knows it.
struct OriginRecord: Sendable {
    var origin: Origin
    /// For each group of links: the highest position that was posted, and the link that it came by (invariant O2).
    private var tops: [Top] = []
    /// It has accounts of the relay before this one.
    var isStored = false
    /// The groups in which this origin's notifications are owed from their base on (invariant A4).
    private var known: [Bool] = []

    init(origin: Origin) { self.origin = origin }

    struct Top: Sendable {
        var sequence: UInt64
        /// -1: none. -2: the relay before this one posted it, by a link that is not known.
        var link: Int
    }

    func top(_ group: Int) -> Top? {
        guard group < tops.count, tops[group].link != -1 else { return nil }
        return tops[group]
    }

    mutating func setTop(_ group: Int, sequence: UInt64, link: Int) {
        while tops.count <= group { tops.append(Top(sequence: 0, link: -1)) }
        tops[group] = Top(sequence: max(sequence, tops[group].sequence), link: link)
    }

    /// The group has other lists now.
    mutating func forget(_ group: Int) {
        if group < tops.count { tops[group] = Top(sequence: 0, link: -1) }
        if group < known.count { known[group] = false }
    }

    func isKnown(in group: Int) -> Bool { group < known.count && known[group] }

    mutating func setKnown(in group: Int) {
        while known.count <= group { known.append(false) }
        known[group] = true
    }
}

/// The retained value of a name, as the center has it after the positions that the relay has read.
struct RetainedRecord: Hashable, Sendable {
    var version: Version
    /// Its position in this center.
    var position: UInt64
    var origin: Int
}
