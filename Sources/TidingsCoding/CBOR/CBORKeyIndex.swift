/// The keys of a large map, hashed: keeps decoding linear, whatever order and number of keys the poster chose.
///
/// The hash is the standard library's, seeded anew in every process, so that no poster can prepare keys that collide.
struct CBORKeyIndex {
    struct Entry {
        var key: CBORPlace
        var value: CBORPlace
        /// The number of the pair in the map.
        var ordinal: UInt32
        /// The number of the entry before with the same hash.
        var next: UInt32?
        var isInteger: Bool
    }

    /// In the map's order, of keys with the same name only the first.
    private(set) var entries: ContiguousArray<Entry> = []
    /// Whether every key of the map has an entry: no two have the same name.
    private(set) var isComplete = true
    /// The number of the latest entry for each hash.
    private var latest: [Int: UInt32] = [:]

    init(_ map: CBORContents, in reader: CBORReader) throws(CBORFault) {
        try reader.walk(map) { (ordinal, pair) throws(CBORFault) in
            let hash = CBORKeyIndex.hash(pair.name, in: reader)
            guard try find(pair.name, hash, in: reader) == nil else {
                isComplete = false
                return true
            }
            let (ordinal, next) = (UInt32(truncatingIfNeeded: ordinal), latest[hash])
            // Exact: every pair takes two bytes or more of fewer than 2³¹. So is the number of the entry.
            latest[hash] = UInt32(truncatingIfNeeded: entries.count)
            let isInteger = pair.name.isInteger
            entries.append(
                Entry(key: pair.key, value: pair.value, ordinal: ordinal, next: next, isInteger: isInteger))
            return true
        }
    }

    /// Finds the first key of that name, or the integer key of that number, whichever comes first.
    func find(_ name: String, _ number: Int?, in reader: CBORReader) throws(CBORFault) -> Entry? {
        let named = try find(.joined(name), in: reader)
        guard let number, let numbered = try find(.integer(Int128(number)), in: reader), numbered.isInteger else {
            return named
        }
        guard let named else { return numbered }
        return named.ordinal < numbered.ordinal ? named : numbered
    }

    private func find(_ name: CBORKeyName, in reader: CBORReader) throws(CBORFault) -> Entry? {
        try find(name, CBORKeyIndex.hash(name, in: reader), in: reader)
    }

    private func find(_ name: CBORKeyName, _ hash: Int, in reader: CBORReader) throws(CBORFault) -> Entry? {
        var number = latest[hash]
        var passed = 0
        while let entry = number.map({ entries[Int($0)] }) {
            // Keys collide by chance once in 2⁶⁴. Others have changed since they were hashed.
            passed += 1
            if passed > 16 { throw CBORFault(.changed, at: Int(entry.key.offset)) }
            if try reader.pair(at: entry.key).name.isEqual(name, in: reader.bytes) { return entry }
            number = entry.next
        }
        return nil
    }

    private static func hash(_ name: CBORKeyName, in reader: CBORReader) -> Int {
        var hasher = Hasher()
        name.withBytes(in: reader.bytes) { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}

extension CBORReader {
    /// A map's index, made when it is first asked for.
    func index(of map: CBORContents) throws(CBORFault) -> CBORKeyIndex {
        if let index = state.pointee.indexes[map.start] { return index }
        let index = try CBORKeyIndex(map, in: self)
        state.pointee.indexes[map.start] = index
        state.pointee.indexed.append(map.start)
        return index
    }

    /// Forgets the indexes of maps within a value that has been decoded: an index takes many times what its map does.
    @inline(never)
    func forgetIndexes(downTo count: Int) {
        while state.pointee.indexed.count > count { state.pointee.indexes[state.pointee.indexed.removeLast()] = nil }
    }
}
