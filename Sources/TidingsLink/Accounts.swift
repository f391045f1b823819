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

    package init(sequence: UInt64, count: UInt64, base: UInt64, unsure: UInt64 = 0) {
        self.sequence = sequence
        self.count = count
        self.base = base
        self.unsure = unsure
    }

    /// Advances to a notification that this relay will not get any more, or to the one before it.
    mutating func lose(through count: UInt64, sequence: UInt64, isUnsure: Bool) {
        guard count > self.count else { return }
        lost = lost.adding(count - self.count)
        if isUnsure { lostUnsure = lostUnsure.adding(count - self.count) }
        self.count = count
        self.sequence = max(self.sequence, sequence)
    }
}

/// One origin, as a relay knows it.
struct OriginRecord: Sendable {
    var origin: Origin
    /// By the number of the name.
    var accounts: [Int: Account] = [:]
    /// For each group of links: the highest position that was posted, and the link that it came by (invariant O2).
    var top: [Int: Top] = [:]
    /// Behind the highest position that was posted before this relay began. It stands for a group's top until a link of
    /// the group has posted.
    var floor: UInt64 = 0
    /// The groups in which this origin's notifications are owed from their base on (invariant A4).
    var knownIn: Set<Int> = []

    struct Top: Sendable {
        var sequence: UInt64
        var link: Int
    }
}

/// The retained value of a name, as the center has it after the positions that the relay has read.
struct RetainedRecord: Hashable, Sendable {
    var version: Version
    /// Its position in this center.
    var position: UInt64
    var origin: Int
}

/// Numbers for names: the other tables use them.
struct NameTable: Sendable {
    private(set) var names: [LinkName] = []
    private var numbers: [LinkName: Int] = [:]

    func number(of name: LinkName) -> Int? { numbers[name] }

    mutating func intern(_ name: LinkName) -> Int {
        if let number = numbers[name] { return number }
        names.append(name)
        numbers[name] = names.count - 1
        return names.count - 1
    }
}

/// What is in the ring of this center, as far as links send it: the facts without the bytes.
struct RingIndex: Sendable {
    struct Record: Sendable {
        var position: UInt64
        var origin: Int
        var name: Int
        var sequence: UInt64
        var count: UInt64
        var version: Version?
        var isCleared: Bool
        /// The link that brought it; -1: posted here, or before this relay began.
        var link: Int
    }

    private var records: [Record] = []
    private var first = 0
    /// Records up to this position were removed from the index; `nil`: none was.
    private(set) var removedThrough: UInt64?

    /// Nothing before this position is in the index.
    mutating func begin(at position: UInt64) {
        removedThrough = position == 0 ? nil : position - 1
    }

    mutating func append(_ record: Record) {
        records.append(record)
    }

    /// Removes what the ring has no room for any more.
    mutating func remove(before position: UInt64) {
        while first < records.count, records[first].position < position {
            removedThrough = records[first].position
            first += 1
        }
        if first > 64, first * 2 > records.count {
            records.removeFirst(first)
            first = 0
        }
    }

    /// The records from a position on, oldest first.
    func from(_ position: UInt64) -> ArraySlice<Record> {
        var (low, high) = (first, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].position >= position { high = middle } else { low = middle + 1 }
        }
        return records[low...]
    }
}
