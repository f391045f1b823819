/// A map that a container reads.
struct CBORMap {
    /// The offset of its place, tags included: what tells it from other maps.
    var start: UInt32
    /// Where the first key is.
    var first: CBORPlace
    /// The number of pairs, −1 for indefinite length.
    var count: Int
}

/// Where a key and its value are.
struct CBORHit {
    var key: UInt32
    var value: CBORPlace
}

/// Where the latest lookup of a map ended.
///
/// Types ask for their keys in the order in which they wrote them, so the next key is most likely the right one. The
/// next key is tried only while every key before it has been asked for, and was another. Otherwise an earlier key
/// could equal it, and of equal keys the first counts.
struct CBORHint {
    /// No map begins at the upper end.
    var map: UInt32 = .max
    var isClean = true
    /// The number of the pair last found, −1 before the first.
    var ordinal = -1
    var value = CBORPlace(offset: 0, span: 0)
    /// A bit for the length and the last character of each key before. A key whose bit is free is none of these.
    var passed: UInt64 = 0
}

/// A key of a map.
enum CBORKeyForm {
    /// The offsets of a text's bytes.
    case text(Int, Int)
    /// A text of indefinite length.
    case joined(String)
    case integer(Int128)
}

extension CBORReader {
    /// Finds a key's value. Of equal keys the first is found. A text key equals a `stringValue`; an integer key an
    /// `intValue`, or a `stringValue` of the same digits.
    ///
    /// With `keeping` the search goes on from here the next time.
    @inline(__always)
    func find<Key: CodingKey>(_ key: Key, in map: CBORMap, keeping: Bool) throws(CBORFault) -> CBORHit? {
        guard isLive else { throw CBORFault(.finished, at: 0) }
        let name = key.stringValue
        if let hit = try findNext(name, in: map, keeping) { return hit }
        return try search(name, key.intValue, in: map, keeping)
    }

    /// The next pair, if it is the one that is looked for, with a short name in the form that our own maps have.
    private func findNext(_ name: String, in map: CBORMap, _ keeping: Bool) throws(CBORFault) -> CBORHit? {
        if hint.map != map.start { hint = CBORHint(map: map.start) }
        guard hint.isClean else { return nil }
        let next = hint.ordinal < 0 ? map.first : try skip(hint.value)
        guard try hasPair(map, hint.ordinal + 1, at: next) else { return nil }
        let bytes = self.bytes
        let end = name.utf8.withContiguousStorageIfAvailable {
            bytes.endOfName(UnsafeRawBufferPointer($0), at: Int(next.offset))
        }
        guard case .some(.some(let end)) = end else { return nil }
        let mark = bytes.mark(from: Int(next.offset), toKeyEnd: end)
        if state.pointee.hint.passed & mark != 0, !isFirst(name, in: map) { return nil }
        let value = CBORPlace(offset: UInt32(truncatingIfNeeded: end), span: next.span)
        if keeping {
            state.pointee.hint.ordinal += 1
            state.pointee.hint.value = value
            state.pointee.hint.passed |= mark
        }
        return CBORHit(key: next.offset, value: value)
    }

    /// Whether none of the keys up to the last one found is this key. False also if a key is malformed: the search then
    /// throws the reason.
    @inline(never)
    private func isFirst(_ name: String, in map: CBORMap) -> Bool { (try? isFirstOrFails(name, in: map)) ?? false }

    private func isFirstOrFails(_ name: String, in map: CBORMap) throws(CBORFault) -> Bool {
        if hint.ordinal >= CBORLimit.scannedPairs {
            let index = try index(of: map)
            // Of a map whose keys are all different none needs to be remembered.
            if index.isComplete {
                state.pointee.hint.passed = 0
                return true
            }
            return try index.find(name, nil, in: self).map { Int($0.ordinal) > hint.ordinal } ?? false
        }
        var place = map.first
        for _ in 0...max(hint.ordinal, 0) {
            let (form, value) = try key(at: place)
            // They were all found as texts of definite length.
            if case .text(let start, let end) = form, equal(name, start, end) { return false }
            place = try skip(value)
        }
        return true
    }

    /// Whether a map has a pair of that number, known to begin at `place` if so.
    @inline(__always)
    private func hasPair(_ map: CBORMap, _ ordinal: Int, at place: CBORPlace) throws(CBORFault) -> Bool {
        map.count >= 0 ? ordinal < map.count : try !bytes.isStop(at: Int(place.offset))
    }

    /// The offsets are as in `PayloadBytes.text(from:to:)`.
    @inline(__always)
    private func equal(_ name: String, _ start: Int, _ end: Int) -> Bool {
        // A string of Swift's own is contiguous; another one is copied.
        let bytes = self.bytes
        let fast = name.utf8.withContiguousStorageIfAvailable {
            bytes.equal(UnsafeRawBufferPointer($0), from: start, to: end)
        }
        return fast ?? bytes.equal(Array(name.utf8), from: start, to: end)
    }

    /// Searches from the front, or a large map by its index.
    @inline(never)
    private func search(_ name: String, _ number: Int?, in map: CBORMap, _ keeping: Bool) throws(CBORFault) -> CBORHit?
    {
        // Where there is an index already, walking first would read every long key again for each that is asked for.
        if map.count > CBORLimit.scannedPairs || (map.count < 0 && state.pointee.indexes[map.start] != nil) {
            return try searchIndex(name, number, in: map, keeping)
        }
        var place = map.first
        var ordinal = 0
        while try hasPair(map, ordinal, at: place) {
            if ordinal == CBORLimit.scannedPairs { return try searchIndex(name, number, in: map, keeping) }
            let (form, value) = try key(at: place)
            let isEqual =
                switch form {
                case .text(let start, let end): equal(name, start, end)
                case .joined(let text): text.utf8.elementsEqual(name.utf8)
                case .integer(let integer): number.map { Int128($0) == integer } ?? false || String(integer) == name
                }
            if isEqual {
                if keeping { leave(ordinal) }
                return CBORHit(key: place.offset, value: value)
            }
            place = try skip(value)
            ordinal += 1
        }
        return nil
    }

    private func searchIndex(
        _ name: String, _ number: Int?, in map: CBORMap, _ keeping: Bool
    ) throws(CBORFault) -> CBORHit? {
        let index = try index(of: map)
        guard let found = try index.find(name, number, in: self) else { return nil }
        if keeping { leave(Int(found.ordinal)) }
        return CBORHit(key: found.key.offset, value: found.value)
    }

    /// A pair that isn't the next one has been found.
    private func leave(_ ordinal: Int) {
        if ordinal > hint.ordinal { state.pointee.hint.isClean = false }
    }

    /// The key at a place, and the place of its value.
    func key(at place: CBORPlace) throws(CBORFault) -> (CBORKeyForm, value: CBORPlace) {
        let bytes = self.bytes
        let head = try bytes.head(at: Int(place.offset))
        var value = CBORPlace(offset: UInt32(truncatingIfNeeded: head.end), span: place.span)
        switch head.major {
        case .unsigned: return (.integer(Int128(head.argument)), value)
        case .negative: return (.integer(~Int128(head.argument)), value)
        case .text where head.isIndefinite: return (.joined(try bytes.text(of: head).text), try skip(place))
        case .text:
            let end = try bytes.endOfString(head)
            value.offset = UInt32(truncatingIfNeeded: end)
            return (.text(head.end, end), value)
        default: throw CBORFault(.keys, at: Int(place.offset))
        }
    }

    /// All keys of a map in their order, each once. Swift holds some keys for equal though their bytes differ (`é` in
    /// one character and in two). Of these the first counts: a dictionary of all would keep the last.
    func keys<Key: CodingKey>(_ type: Key.Type, of map: CBORMap) throws(CBORFault) -> [Key] {
        guard isLive else { throw CBORFault(.finished, at: 0) }
        var keys: [Key] = []
        if map.count > CBORLimit.scannedPairs { return try indexedKeys(type, of: map) }
        var names: [String] = []
        var isASCII = true
        var place = map.first
        var ordinal = 0
        while try hasPair(map, ordinal, at: place) {
            if ordinal == CBORLimit.scannedPairs { return try indexedKeys(type, of: map) }
            let (form, value) = try key(at: place)
            let name = try self.name(form)
            isASCII = isASCII && self.isASCII(form)
            if !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
                names.append(name)
                if let key = try makeKey(type, form) { keys.append(key) }
            }
            place = try skip(value)
            ordinal += 1
        }
        return isASCII ? keys : firsts(of: keys)
    }

    private func indexedKeys<Key: CodingKey>(_ type: Key.Type, of map: CBORMap) throws(CBORFault) -> [Key] {
        var keys: [Key] = []
        var isASCII = true
        for entry in try index(of: map).entries {
            let (form, _) = try key(at: entry.key)
            isASCII = isASCII && self.isASCII(form)
            if let key = try makeKey(type, form) { keys.append(key) }
        }
        return isASCII ? keys : firsts(of: keys)
    }

    private func isASCII(_ form: CBORKeyForm) -> Bool {
        switch form {
        case .text(let start, let end): bytes.isASCII(from: start, to: end)
        case .joined(let text): text.utf8.allSatisfy { $0 < 0x80 }
        case .integer: true
        }
    }

    private func firsts<Key: CodingKey>(of keys: [Key]) -> [Key] {
        var names: Set<String> = []
        return keys.filter { names.insert($0.stringValue).inserted }
    }

    private func makeKey<Key: CodingKey>(_ type: Key.Type, _ form: CBORKeyForm) throws(CBORFault) -> Key? {
        if case .integer(let integer) = form, let number = Int(exactly: integer), let key = Key(intValue: number) {
            return key
        }
        return Key(stringValue: try name(form))
    }

    func name(_ form: CBORKeyForm) throws(CBORFault) -> String {
        switch form {
        case .text(let start, let end): try bytes.text(from: start, to: end)
        case .joined(let text): text
        case .integer(let integer): String(integer)
        }
    }
}
