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

    init(_ map: CBORMap, in reader: CBORReader) throws(CBORFault) {
        var place = map.first
        var ordinal: UInt32 = 0
        while true {
            if map.count >= 0 {
                if ordinal == map.count { return }
            } else if try reader.bytes.isStop(at: Int(place.offset)) {
                return
            }
            let (form, value) = try reader.key(at: place)
            let hash = CBORKeyIndex.hash(form, in: reader)
            if try find(form, hash, in: reader) == nil {
                var isInteger = false
                if case .integer = form { isInteger = true }
                entries.append(
                    Entry(key: place, value: value, ordinal: ordinal, next: latest[hash], isInteger: isInteger))
                latest[hash] = UInt32(truncatingIfNeeded: entries.count - 1)
            } else {
                isComplete = false
            }
            place = try reader.skip(value)
            ordinal += 1
        }
        // Every round takes two bytes or more of fewer than 2³¹, so that the ordinal can't overflow.
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

    private func find(_ form: CBORKeyForm, in reader: CBORReader) throws(CBORFault) -> Entry? {
        try find(form, CBORKeyIndex.hash(form, in: reader), in: reader)
    }

    private func find(_ form: CBORKeyForm, _ hash: Int, in reader: CBORReader) throws(CBORFault) -> Entry? {
        var number = latest[hash]
        while let entry = number.map({ entries[Int($0)] }) {
            if try isEqual(form, entry, in: reader) { return entry }
            number = entry.next
        }
        return nil
    }

    private func isEqual(_ form: CBORKeyForm, _ entry: Entry, in reader: CBORReader) throws(CBORFault) -> Bool {
        let (other, _) = try reader.key(at: entry.key)
        return CBORKeyIndex.withBytes(of: form, in: reader) { left in
            CBORKeyIndex.withBytes(of: other, in: reader) { right in left.elementsEqual(right) }
        }
    }

    private static func hash(_ form: CBORKeyForm, in reader: CBORReader) -> Int {
        var hasher = Hasher()
        withBytes(of: form, in: reader) { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// The bytes of a key's name.
    private static func withBytes<R>(
        of form: CBORKeyForm, in reader: CBORReader, _ body: (UnsafeRawBufferPointer) -> R
    ) -> R {
        var name: String
        switch form {
        case .text(let start, let end):
            return body(UnsafeRawBufferPointer(start: reader.bytes.base + start, count: end - start))
        // In bounds: `key(at:)` compared both offsets with `count`.
        case .joined(let text): name = text
        case .integer(let integer): name = String(integer)
        }
        return name.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

extension CBORReader {
    /// A map's index, made when it is first asked for.
    func index(of map: CBORMap) throws(CBORFault) -> CBORKeyIndex {
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
