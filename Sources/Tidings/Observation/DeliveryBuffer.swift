#if MUTANTS
    import TidingsCoding
#endif

/// The items that wait for an observer, in order, within bounds.
///
/// If the buffer is full, the oldest items are dropped, and reported as missed before the remaining items, as if the
/// ring had overwritten them. With `keeping: .oldest`, new items are dropped instead, and reported as missed at their
/// position in the order.
struct DeliveryBuffer {
    struct Bounds {
        var items: Int
        var bytes: Int
        var keeping = SharedNotificationCenter.Keeping.newest

        /// For closures. 8,192 items: twice a default ring, so a closure misses nothing that a polling reader of the
        /// ring would have received. 64 MiB: four payloads of the default maximum.
        static let closure = Bounds(items: 8192, bytes: 64 << 20)

        /// For lossless closures. Waiting items have left the ring, so a small buffer is enough to keep a closure busy.
        static let losslessClosure = Bounds(items: 256, bytes: 16 << 20)

        static func sequence(_ bufferSize: Int, _ keeping: SharedNotificationCenter.Keeping) -> Bounds {
            Bounds(items: max(1, bufferSize), bytes: 64 << 20, keeping: keeping)
        }
    }

    /// How many payloads may wait in the center's memory: a quarter of the chunks of the largest size. An observer that
    /// falls behind then leaves most of them to posters.
    static let mostInPlace = 4

    var bounds: Bounds
    /// How many payloads wait in the center's memory.
    private(set) var inPlace = 0
    // A queue whose front is at `first`; the elements before `first` are `nil`. It is compacted when at least half of
    // it is `nil`.
    private var items: [Item?] = []
    private var first = 0
    private var bytes = 0
    /// The items dropped before the first waiting item, since the last `pop`.
    private var missed = Losses()
    /// The items dropped after the last waiting item.
    private var missedLast = Losses()
    /// The latest `reopened` item that was removed to make room. `pop` returns it first, so it is not lost.
    private var reopened: UInt64?

    init(_ bounds: Bounds) { self.bounds = bounds }

    var count: Int { items.count - first }
    var isEmpty: Bool { count == 0 && missed.count == 0 && missedLast.count == 0 && reopened == nil }

    /// The incarnation and sequence of the next item that `pop` returns. A loss comes before all other items (0, 0).
    /// `nil`: the buffer is empty.
    var next: (incarnation: UInt64, sequence: UInt64)? {
        if isEmpty { return nil }
        guard reopened == nil, missed.count == 0, first < items.count, case .arrival(let arrival) = items[first] else {
            return (0, 0)
        }
        return (arrival.envelope.incarnation, arrival.envelope.sequence)
    }

    /// Whether pushing the item drops nothing. An empty buffer has room for any item.
    func hasRoom(for item: Item) -> Bool {
        count == 0 || count < bounds.items && bytes + item.size <= bounds.bytes
    }

    /// - Parameter dropping: if `false`, the buffer may exceed its bounds.
    mutating func push(_ item: Item, dropping: Bool = true) {
        while dropping, item.canBeDropped, !hasRoom(for: item) {
            if bounds.keeping == .oldest { return missedLast.add(item) }
            switch removeFirst() {
            case .reopened(let incarnation)?: reopened = incarnation
            case let oldest?: missed.add(oldest)
            case nil: break
            }
        }
        // The report of the losses is itself a waiting item and counts as one.
        if let before = missedLast.take() { items.append(before) }
        items.append(item)
        bytes += item.size
        if item.isInPlace { inPlace += 1 }
    }

    mutating func pop() -> Item? {
        if let reopened {
            self.reopened = nil
            return .reopened(reopened)
        }
        return missed.take() ?? removeFirst() ?? missedLast.take()
    }

    mutating func removeAll() { self = DeliveryBuffer(bounds) }

    private mutating func removeFirst() -> Item? {
        guard first < items.count, let item = items[first] else { return nil }
        items[first] = nil
        first += 1
        bytes -= item.size
        if item.isInPlace { inPlace -= 1 }
        if first == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 64)
            first = 0
        } else if first >= 32, first * 2 >= items.count {
            items.removeFirst(first)
            first = 0
        }
        return item
    }
}

/// A count of dropped items, and their name if all of them had the same name.
struct Losses {
    private(set) var count = 0
    private var name: SharedNotificationCenter.Name?

    mutating func add(_ item: Item) {
        let (more, name): (Int, SharedNotificationCenter.Name?) =
            switch item {
            case .arrival(let arrival): (1, arrival.name)
            case .missed(let count, let name): (count, name)
            case .reopened, .ended: (0, nil)
            }
        self.name = count == 0 || self.name == name ? name : nil
        #if MUTANT_WAITING_MISSED_IN_32_BITS  // Found by: fuzz swift
            if isMutant("WAITING_MISSED_IN_32_BITS") { _ = UInt32(count) + UInt32(more) }
        #endif
        count.add(more)
    }

    mutating func take() -> Item? {
        guard count > 0 else { return nil }
        defer { self = Losses() }
        return .missed(count, name)
    }
}
