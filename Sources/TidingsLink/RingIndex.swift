// What is in the ring of this center, as far as links send it: the facts without the bytes.

struct RingIndex: Sendable {
    struct Record: Sendable {
        var position: UInt64
        var sequence: UInt64
        var count: UInt64
        /// Of the version, if it has one.
        var date: UInt64
        var content: ContentLog.Place
        var account: Int32
        /// The link that brought it; -1: posted here, or before this relay began.
        var link: Int32
        var hasVersion: Bool
        var isCleared: Bool
    }

    /// The record with number `n` is at `n & (count - 1)`.
    private var records: [Record] = []
    /// Numbers of the first record, and of the next one.
    private(set) var first = 0
    private(set) var end = 0
    /// Records up to this position were removed from the index; `nil`: none was.
    private(set) var removedThrough: UInt64?

    /// Nothing before this position is in the index.
    mutating func begin(at position: UInt64) {
        removedThrough = position == 0 ? nil : position - 1
    }

    mutating func append(_ record: Record) {
        if end - first == records.count { grow(record) }
        records[end & (records.count - 1)] = record
        end += 1
    }

    private mutating func grow(_ record: Record) {
        var larger = [Record](repeating: record, count: max(16, records.count * 2))
        for number in first..<end { larger[number & (larger.count - 1)] = self[number] }
        records = larger
    }

    /// Removes what the ring has no room for any more.
    mutating func remove(before position: UInt64) {
        while first < end, self[first].position < position {
            removedThrough = self[first].position
            first += 1
        }
    }

    subscript(number: Int) -> Record { records[number & (records.count - 1)] }

    /// The number of the first record from a position on.
    func number(from position: UInt64) -> Int {
        var (low, high) = (first, end)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].position >= position { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// First in, first out.
struct Queue<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }

    var first: Element? { isEmpty ? nil : elements[head] }
    var last: Element? { isEmpty ? nil : elements[elements.count - 1] }

    /// The first element for which `isMatch` is true; it must be true for all later ones, too.
    func first(where isMatch: (Element) -> Bool) -> Element? {
        var (low, high) = (head, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if isMatch(elements[middle]!) { high = middle } else { low = middle + 1 }
        }
        return low < elements.count ? elements[low] : nil
    }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() {
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
    }

    /// Changes the first element in place. There must be one.
    mutating func withFirst<Result>(_ body: (inout Element) -> Result) -> Result {
        body(&elements[head]!)
    }

    mutating func removeAll() {
        elements = []
        head = 0
    }
}
