/// The keys of a large map, hashed: keeps decoding linear whoever chose the order and the number of the keys.
///
/// The hash is the standard library's, seeded anew in every process, so that nobody can prepare keys that collide.
struct CBORKeyIndex {
    struct Entry {
        var key: CBORPlace
        var value: CBORPlace
        /// The number of the pair in the map.
        var ordinal: UInt32
        var isInteger: Bool
    }

    /// In the map's order, of keys with the same name only the first.
    private(set) var entries: ContiguousArray<Entry> = []
    /// Whether every key of the map has an entry: no two have the same name.
    private(set) var isComplete = true
    /// Numbers of entries plus one, 0 for a free slot; a power of two, at most half full.
    private var slots: ContiguousArray<UInt32> = []

    init(_ map: CBORMap, in reader: CBORReader) throws(CBORFault) {
        slots = ContiguousArray(repeating: 0, count: 64)
        var place = map.first
        var ordinal: UInt32 = 0
        while true {
            if map.count >= 0 {
                if ordinal == map.count { return }
            } else if try reader.bytes.isStop(at: Int(place.offset)) {
                return
            }
            let (form, value) = try reader.key(at: place)
            try add(form, Entry(key: place, value: value, ordinal: ordinal, isInteger: false), in: reader)
            place = try reader.skip(value)
            ordinal += 1
        }
        // Every round takes two bytes or more of fewer than 2³¹, so that the ordinal can't overflow.
    }

    private mutating func add(_ form: CBORKeyForm, _ entry: Entry, in reader: CBORReader) throws(CBORFault) {
        var entry = entry
        if case .integer = form { entry.isInteger = true }
        var slot = try CBORKeyIndex.hash(form, in: reader) & (slots.count - 1)
        while slots[slot] != 0 {
            if try isEqual(form, entries[Int(slots[slot]) - 1], in: reader) {
                isComplete = false
                return
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        entries.append(entry)
        slots[slot] = UInt32(entries.count)
        if entries.count * 2 > slots.count { try grow(in: reader) }
    }

    private mutating func grow(in reader: CBORReader) throws(CBORFault) {
        slots = ContiguousArray(repeating: 0, count: slots.count * 2)
        for number in entries.indices {
            let (form, _) = try reader.key(at: entries[number].key)
            var slot = try CBORKeyIndex.hash(form, in: reader) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(number + 1)
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

    private func find(_ form: CBORKeyForm, in reader: CBORReader) throws(CBORFault) -> Entry? {
        var slot = try CBORKeyIndex.hash(form, in: reader) & (slots.count - 1)
        while slots[slot] != 0 {
            let entry = entries[Int(slots[slot]) - 1]
            if try isEqual(form, entry, in: reader) { return entry }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
        // Ends: half of the slots are free.
    }

    private func isEqual(_ form: CBORKeyForm, _ entry: Entry, in reader: CBORReader) throws(CBORFault) -> Bool {
        let (other, _) = try reader.key(at: entry.key)
        return CBORKeyIndex.withBytes(of: form, in: reader) { left in
            CBORKeyIndex.withBytes(of: other, in: reader) { right in left.elementsEqual(right) }
        }
    }

    private static func hash(_ form: CBORKeyForm, in reader: CBORReader) throws(CBORFault) -> Int {
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
        // In bounds: whoever made the form compared both offsets with `count`.
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

    /// Forgets the latest of them, those of maps within a value that has been decoded: an index takes many times what its map does.
    @inline(never)
    func forgetIndexes(downTo count: Int) {
        while state.pointee.indexed.count > count { state.pointee.indexes[state.pointee.indexed.removeLast()] = nil }
    }
}
