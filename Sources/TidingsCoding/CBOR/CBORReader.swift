/// One decoding: a handle on a state that is never freed, for the reason that `CBORWriter` gives. A container that
/// outlives its decoding finds that the epoch is over.
struct CBORReader {
    struct State: CBORPooled {
        var next: UnsafeMutablePointer<State>?
        /// Empty outside a decoding.
        var bytes = PayloadBytes.none
        /// Moves on with every decoding.
        var epoch: UInt32 = 0
        /// Of every non-empty array or map and every string of indefinite length, in the order of their beginning.
        var spans = CBORStack<CBORSpan>(capacity: 32)
        var hint = CBORHint()
        /// Indexes of large maps, by the map's offset.
        var indexes: [UInt32: CBORKeyIndex] = [:]
        /// The maps that have one, in the order in which they got it.
        var indexed: ContiguousArray<UInt32> = []
        /// The keys and places that led to the values under way.
        var steps: ContiguousArray<CBORStep> = []
        /// How many bytes may still be read of a payload that can change meanwhile.
        var budget = Int.max
        var userInfo: [CodingUserInfoKey: Any] = [:]
    }

    let state: UnsafeMutablePointer<State>
    // Valid for ever, and used by one thread at a time: that which took it from the cache.
    private let epoch: UInt32

    /// Begins a decoding. The bytes are lent to it until `end`.
    ///
    /// - Parameter isShared: whether other processes can change the bytes meanwhile.
    static func begin(
        _ bytes: UnsafeRawBufferPointer, isShared: Bool = false, userInfo: [CodingUserInfoKey: any Sendable] = .init()
    ) -> CBORReader {
        let state = State.cache.take()
        state.pointee.bytes = PayloadBytes(bytes)
        state.pointee.budget = isShared ? 16 &* bytes.count &+ 4096 : .max
        // No overflow: a payload has at most 1 GiB.
        if !userInfo.isEmpty { state.pointee.userInfo = userInfo }
        return CBORReader(state: state, epoch: state.pointee.epoch)
    }

    /// Lets go of everything, so that a container that outlives the decoding finds nothing.
    func end() {
        state.pointee.end()
        State.cache.giveBack(state)
    }

    /// Whether the decoding that the handle was made for is still under way.
    @inline(__always) var isLive: Bool { epoch == state.pointee.epoch }

    @inline(__always)
    func live() throws(CBORFault) -> CBORReader {
        guard isLive else { throw CBORFault(.finished, at: 0) }
        return self
    }
}

extension CBORReader {
    /// Counts bytes that are read. If lengths change between two reads, a decoder could read the whole payload again
    /// for each of its bytes. One that reads a payload of others' bytes more than 16 times gives up, and reads a copy.
    @inline(__always)
    func spend(_ count: Int) throws(CBORFault) {
        state.pointee.budget &-= count
        // No overflow: what is left is 0 or more, and `count` is at most the payload's size.
        if state.pointee.budget < 0 { throw CBORFault(.changed, at: 0) }
    }
}

// Each of these lasts for one load or store: code that is called in between may come back through another handle.
extension CBORReader {
    var bytes: PayloadBytes { state.pointee.bytes }
    var hint: CBORHint {
        get { state.pointee.hint }
        nonmutating set { state.pointee.hint = newValue }
    }
    var steps: ContiguousArray<CBORStep> { state.pointee.steps }
    var userInfo: [CodingUserInfoKey: Any] { state.pointee.userInfo }
}

extension CBORReader.State {
    fileprivate mutating func end() {
        epoch &+= 1
        // Wraps after 2³² decodings of a thread, no container is kept for as long.
        bytes = .none
        hint = CBORHint()
        if !indexes.isEmpty {
            indexes = [:]
            indexed = []
        }
        if !userInfo.isEmpty { userInfo = [:] }
        if !steps.isEmpty { steps.removeAll(keepingCapacity: steps.capacity <= 1 << 10) }
        spans.count = 0
        spans.shrink(above: 1 << 13)
    }
}

/// The extent of an item that can't be passed over by its head alone.
struct CBORSpan {
    /// The offset behind the item.
    var end: UInt32
    /// The number of the first span that begins behind the item; the upper bit is `hasOddKeys`.
    private var link: UInt32

    init(end: UInt32, next: UInt32, hasOddKeys: Bool) {
        self.end = end
        link = next | (hasOddKeys ? 1 << 31 : 0)
    }

    var next: UInt32 { link & ~(1 << 31) }
    /// Whether some key of the map is neither text nor an integer.
    var hasOddKeys: Bool { link >> 31 != 0 }
}

/// Where an item begins, and the number of the first span at or behind it.
struct CBORPlace: Equatable {
    var offset: UInt32
    var span: UInt32

    /// The place of a value that isn't there.
    static let missing = CBORPlace(offset: .max, span: .max)
}

extension CBORReader {
    /// The head of an item of this type, behind any tags.
    @inline(__always)
    func head(of major: CBORMajor, at place: CBORPlace) throws(CBORFault) -> CBORHead {
        let head = try bytes.content(at: place).head
        guard head.major == major else { throw .mismatch(head, at: place.offset) }
        return head
    }

    /// The place behind an item.
    @inline(__always)
    func skip(_ place: CBORPlace) throws(CBORFault) -> CBORPlace {
        if let end = bytes.quickEnd(at: Int(place.offset)) {
            return CBORPlace(offset: UInt32(truncatingIfNeeded: end), span: place.span)
        }
        return try skipUnusual(place)
        // No offset that was read from exceeds the number of bytes, and that fits 31 bits.
    }

    @inline(never)
    private func skipUnusual(_ place: CBORPlace) throws(CBORFault) -> CBORPlace {
        let bytes = self.bytes
        let head = try bytes.content(at: place).head
        var end = head.end
        switch head.major {
        case .unsigned, .negative, .tag, .simple: break
        case .bytes, .text:
            if head.isIndefinite { return try skipSpan(place) }
            end = try bytes.endOfString(head)
        case .array, .map:
            if head.isIndefinite || head.argument > 0 { return try skipSpan(place) }
        }
        return CBORPlace(offset: UInt32(truncatingIfNeeded: end), span: place.span)
    }

    private func skipSpan(_ place: CBORPlace) throws(CBORFault) -> CBORPlace {
        let span = try span(at: place)
        return CBORPlace(offset: span.end, span: span.next)
    }

    /// The span of the item at a place, if its head says that it has one.
    func span(at place: CBORPlace) throws(CBORFault) -> CBORSpan {
        let number = Int(place.span)
        guard number < state.pointee.spans.count, state.pointee.spans[number].end > place.offset else {
            throw CBORFault(.changed, at: Int(place.offset))
        }
        return state.pointee.spans[number]
    }
}
