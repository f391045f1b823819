/// Where a key and its value are.
struct CBORHit {
    var key: UInt32
    var value: CBORPlace
}

/// Where the latest lookup of a map ended. Types ask for their keys in the order in which they wrote them, so the next
/// key is most likely the right one. It is tried only while every key before it has been asked for: else an earlier one
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

extension CBORReader {
    /// Finds a key's value. Of equal keys the first is found. A text key equals a `stringValue`; an integer key an
    /// `intValue`, or a `stringValue` of the same digits. With `keeping` the search goes on from here the next time.
    @inline(__always)
    func find<Key: CodingKey>(_ key: Key, in map: CBORContents, keeping: Bool) throws(CBORFault) -> CBORHit? {
        guard isLive else { throw CBORFault(.finished, at: 0) }
        let name = key.stringValue
        if let hit = try findNext(name, in: map, keeping) { return hit }
        return try search(name, key.intValue, in: map, keeping)
    }

    /// The next pair, if it is the one that is looked for, with a short name in the form that our own maps have.
    private func findNext(_ name: String, in map: CBORContents, _ keeping: Bool) throws(CBORFault) -> CBORHit? {
        if hint.map != map.start { hint = CBORHint(map: map.start) }
        guard hint.isClean else { return nil }
        let next = hint.ordinal < 0 ? map.first : try skip(hint.value)
        guard next.offset < map.end, try hasPair(map, hint.ordinal + 1, at: next) else { return nil }
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

    /// Whether none of the keys up to the last one found is this key. False if one is malformed: the search throws why.
    @inline(never)
    private func isFirst(_ name: String, in map: CBORContents) -> Bool { (try? isFirstOrFails(name, in: map)) ?? false }

    private func isFirstOrFails(_ name: String, in map: CBORContents) throws(CBORFault) -> Bool {
        if hint.ordinal >= CBORLimit.scannedPairs {
            let index = try index(of: map)
            // Of a map whose keys are all different none needs to be remembered.
            if index.isComplete {
                state.pointee.hint.passed = 0
                return true
            }
            return try index.find(name, nil, in: self).map { Int($0.ordinal) > hint.ordinal } ?? false
        }
        var isFirst = true
        try walk(map, most: max(hint.ordinal, 0) + 1) { (_, pair) in
            // They were all found as texts of definite length.
            if case .text(let start, let end) = pair.name, equal(name, start, end) { isFirst = false }
            return isFirst
        }
        return isFirst
    }

    /// The offsets are as in `PayloadBytes.text(from:to:)`.
    @inline(__always)
    private func equal(_ name: String, _ start: Int, _ end: Int) -> Bool {
        // A string of Swift's own is contiguous; another one is copied.
        let bytes = self.bytes
        let fast = name.utf8.withContiguousStorageIfAvailable {
            bytes.equal(UnsafeRawBufferPointer($0), from: start, to: end)
        }
        return fast ?? Array(name.utf8).withUnsafeBytes { bytes.equal($0, from: start, to: end) }
    }

    /// Searches from the front, or a large map by its index.
    @inline(never)
    private func search(
        _ name: String, _ number: Int?, in map: CBORContents, _ keeping: Bool
    ) throws(CBORFault) -> CBORHit? {
        var found: (hit: CBORHit, ordinal: Int)?
        // Where there is an index already, walking first would read every long key again for each that is asked for.
        var isSmall = map.count <= CBORLimit.scannedPairs && (map.count >= 0 || state.pointee.indexes[map.start] == nil)
        if isSmall {
            isSmall = try walk(map, most: CBORLimit.scannedPairs) { (ordinal, pair) in
                let isEqual =
                    switch pair.name {
                    case .text(let start, let end): equal(name, start, end)
                    case .joined(let text): text.utf8.elementsEqual(name.utf8)
                    case .integer(let integer): number.map { Int128($0) == integer } ?? false || String(integer) == name
                    }
                if isEqual { found = (CBORHit(key: pair.key.offset, value: pair.value), ordinal) }
                return !isEqual
            }
        }
        if !isSmall, let entry = try index(of: map).find(name, number, in: self) {
            found = (CBORHit(key: entry.key.offset, value: entry.value), Int(entry.ordinal))
        }
        // A pair behind the next one: the keys between them have not been asked for.
        if let found, keeping, found.ordinal > hint.ordinal { state.pointee.hint.isClean = false }
        return found?.hit
    }
}
