/// The items that arrived for an observer while its center was suspended, in order, within bounds. Dropped items are
/// counted, and reported before the remaining items.
struct HeldItems {
    enum Kind: Hashable, Sendable {
        case drop
        /// Keeps the last item of each name and subject.
        case coalesce(limit: Int)
        case hold(limit: Int)
    }

    private struct Key: Hashable {
        var name: SharedNotificationCenter.Name
        var subject: ByteText?

        init(_ arrival: Arrival) {
            name = arrival.name
            subject = arrival.envelope.subject.map { ByteText($0) }
        }
    }

    // The byte limit of the items that wait for a closure.
    static let bytes = DeliveryBuffer.Bounds.closure.bytes
    /// How many loss reports an observer with the behavior `drop` keeps: the default limit of the other behaviors. The
    /// limit is needed because a hostile peer can cause losses without end.
    private static let reports = 1024

    private let kind: Kind
    /// How many items wait at most.
    let limit: Int
    /// In order. `nil` marks an item that was replaced or dropped; all elements before `first` are `nil`.
    private var items: [Item?] = []
    private var first = 0
    private var count = 0
    private var size = 0
    /// The index of the last item of each name and subject.
    private var places: [Key: Int] = [:]
    private var missed = Losses()

    init(_ kind: Kind) {
        self.kind = kind
        switch kind {
        case .drop: limit = Self.reports
        case .coalesce(let limit), .hold(let limit): self.limit = max(1, limit)
        }
    }

    var isEmpty: Bool { count == 0 && missed.count == 0 }

    /// Whether pushing the item drops nothing. A replaced item does not count as dropped: its behavior asks for the
    /// replacement.
    func hasRoom(for item: Item) -> Bool {
        guard kind != .drop else { return true }
        var (count, size) = (count, size)
        if case .coalesce = kind, case .arrival(let arrival) = item, let place = places[Key(arrival)],
            let replaced = items[place]
        {
            count -= 1
            size -= replaced.size
        }
        return count == 0 || count < limit && size + item.size <= Self.bytes
    }

    mutating func push(_ item: Item) {
        switch kind {
        case .drop:
            // The behavior asks to drop arrivals. Losses in the ring are reported nevertheless.
            if case .missed = item { append(item) }
        case .hold: append(item)
        case .coalesce:
            guard case .arrival(let arrival) = item else { return append(item) }
            let key = Key(arrival)
            if let place = places[key] { removeItem(at: place) }
            append(item)
            places[key] = items.count - 1
        }
    }

    /// Moves the report of dropped items, then the remaining items. With `lossless`, the buffer may exceed its bounds.
    mutating func moveAll(to buffer: inout DeliveryBuffer, lossless: Bool = false) {
        if let missed = missed.take() { buffer.push(missed) }
        for case let item? in items { buffer.push(item, dropping: !lossless) }
        removeAll()
    }

    mutating func removeAll() { self = HeldItems(kind) }

    private mutating func append(_ item: Item) {
        while count > 0, count >= limit || size + item.size > Self.bytes { dropOldest() }
        if items.count - count > 64, count < items.count / 2 { compact() }
        items.append(item)
        count += 1
        size += item.size
    }

    @discardableResult
    private mutating func removeItem(at place: Int) -> Item? {
        guard let item = items[place] else { return nil }
        items[place] = nil
        count -= 1
        size -= item.size
        return item
    }

    private mutating func dropOldest() {
        while first < items.count, items[first] == nil { first += 1 }
        guard first < items.count, let item = removeItem(at: first) else { return }
        missed.add(item)
        if case .arrival(let arrival) = item, case .coalesce = kind { places[Key(arrival)] = nil }
    }

    /// Removes the `nil` elements.
    private mutating func compact() {
        items.removeAll { $0 == nil }
        first = 0
        guard case .coalesce = kind else { return }
        places.removeAll(keepingCapacity: true)
        for (place, item) in items.enumerated() {
            if case .arrival(let arrival)? = item { places[Key(arrival)] = place }
        }
    }
}
