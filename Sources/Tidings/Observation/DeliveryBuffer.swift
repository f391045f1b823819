#if MUTANTS
    import TidingsCoding
#endif

/// What waits for an observer, in order, within bounds. Full means the oldest make place, and are told as missed in front of the rest:
/// as if the ring had gone round. Or, if asked to, what comes is dropped, and told as missed where it would have been.
struct DeliveryBuffer {
    struct Bounds {
        var items: Int
        var bytes: Int
        var keeping = SharedNotificationCenter.Keeping.newest

        /// For closures. 8,192: twice a default ring, so that a closure misses nothing that a polling reader of the ring would have got.
        /// 64 MiB: four payloads of the default maximum.
        static let closure = Bounds(items: 8192, bytes: 64 << 20)

        /// For lossless closures: what waits here is out of the ring already, so a little is enough to keep a closure busy.
        static let losslessClosure = Bounds(items: 256, bytes: 16 << 20)

        static func sequence(_ bufferSize: Int, _ keeping: SharedNotificationCenter.Keeping) -> Bounds {
            Bounds(items: max(1, bufferSize), bytes: 64 << 20, keeping: keeping)
        }
    }

    private let bounds: Bounds
    // A queue: the front is at `first`; before it are nils. Moved together when half of it is that.
    private var items: [Item?] = []
    private var first = 0
    private var bytes = 0
    /// What was dropped in front of the rest since the last `pop`.
    private var missed = Missed()
    /// What was dropped after the last that waits.
    private var missedLast = Missed()
    /// The last of those in front of the rest that tell of another center: told first, not dropped.
    private var reopened: UInt64?

    init(_ bounds: Bounds) {
        self.bounds = bounds
    }

    var count: Int { items.count - first }
    var isEmpty: Bool { count == 0 && missed.count == 0 && missedLast.count == 0 && reopened == nil }

    /// Where in which center's order the next stands that `pop` returns; a loss stands before all others (0, 0). `nil`: there is none.
    var next: (incarnation: UInt64, sequence: UInt64)? {
        if isEmpty { return nil }
        guard reopened == nil, missed.count == 0, first < items.count, case .arrival(let arrival) = items[first] else {
            return (0, 0)
        }
        return (arrival.envelope.incarnation, arrival.envelope.sequence)
    }

    /// Whether pushing it drops nothing. One always fits.
    func hasRoom(for item: Item) -> Bool {
        count == 0 || count < bounds.items && bytes + item.size <= bounds.bytes
    }

    /// - Parameter dropping: `false`: beyond its bounds if need be.
    mutating func push(_ item: Item, dropping: Bool = true) {
        while dropping, item.canBeDropped, !hasRoom(for: item) {
            if bounds.keeping == .oldest { return missedLast.add(item) }
            switch removeFirst() {
            case .reopened(let incarnation)?: reopened = incarnation
            case let oldest?: missed.add(oldest)
            case nil: break
            }
        }
        // Counts as one of those that wait, as any that is told.
        if let before = missedLast.take() { items.append(before) }
        items.append(item)
        bytes += item.size
    }

    mutating func pop() -> Item? {
        if let reopened {
            self.reopened = nil
            return .reopened(reopened)
        }
        return missed.take() ?? removeFirst() ?? missedLast.take()
    }

    mutating func removeAll() {
        self = DeliveryBuffer(bounds)
    }

    private mutating func removeFirst() -> Item? {
        guard first < items.count, let item = items[first] else { return nil }
        items[first] = nil
        first += 1
        bytes -= item.size
        if first == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 64)
            first = 0
        } else if first >= 32, first * 2 >= items.count {
            items.removeFirst(first)
            first = 0
        }
        return item
    }

    /// A count, and where all of it had the same name, that.
    private struct Missed {
        var count = 0
        var name: SharedNotificationCenter.Name?

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
            defer { self = Missed() }
            return .missed(count, name)
        }
    }
}
