// A key that is encoded twice. As in Foundation, the last value wins, and nested containers for one key are one
// container. Decoders disagree on a map in which a key stands twice.
extension CBORWriter {
    /// True: the key that was just written is new in the current map. False: it may be there.
    ///
    /// A map's `keys` has a bit for each key, by its length and two of its bytes. A bit that is not set yet proves that
    /// the key is new: that is all that the usual key costs.
    @inline(__always)
    mutating func markKey(from start: Int, to end: Int) -> Bool {
        let size = end &- start
        let last = UInt64(base.load(fromByteOffset: end &- 1, as: UInt8.self))
        let other = UInt64(base.load(fromByteOffset: start &+ size &>> 2, as: UInt8.self))
        // In bounds: a key has a head, so its size is at least 1. Another process may change the bytes: only a hint
        // changes.
        let mark: UInt64 = 1 &<< (UInt64(truncatingIfNeeded: size) &* 9 &+ last &+ other &* 4)
        let keys = current.keys
        current.keys = keys | mark
        return keys & mark == 0
    }

    /// Whether the key is new after all. If not, the pair that had the key is removed, and the new pair need not be
    /// counted.
    @inline(never)
    mutating func noteAgain(from start: Int, to end: Int) throws -> Bool {
        if isNewInLargeMap(from: start, to: end) { return true }
        guard let pair = pair(withKey: start..<end) else { return true }
        try remove(pair.key.lowerBound..<pair.value.upperBound)
        return false
    }

    /// The nested container that the current map has for the key that was just written. That key is taken back then.
    /// Nil if the map does not have the key.
    mutating func reopen(_ kind: CBORFrame.Kind, keyFrom start: Int) throws -> CBORFrameID? {
        let key = start..<cursor
        for number in stride(from: frames.count - 1, to: current.number, by: -1) {
            let frame = frames[number]
            guard frame.parent == current.number, frame.serial != 0, !frame.isPushed, isKey(frame.key, key)
            else { continue }
            guard frame.kind == kind else { throw otherKind(key) }
            takeBack(to: start)
            return CBORFrameID(number: UInt32(truncatingIfNeeded: number), serial: frame.serial)
        }
        guard let pair = pair(withKey: key) else { return nil }
        guard let head = try? written(to: start).head(at: pair.value.lowerBound), !head.isIndefinite,
            head.major == (kind == .map ? .map : .array), head.argument <= UInt64(start)
        else { throw otherKind(key) }
        takeBack(to: start)
        let depth = frames[current.number].depth + 1
        guard depth <= CBORLimit.depth else { throw CBORMisuse.tooDeep.error(path: path(to: current.id)) }
        let id = add(kind, start: pair.value.lowerBound, CBORFrame.Spot(keyLength: key.count), depth: depth)
        frames[Int(id.number)].end = pair.value.upperBound
        frames[Int(id.number)].count = Int(head.argument)
        frames[Int(id.number)].keys = .max
        // In bounds: just added. The count is one of bytes that are there; all keys may be in such a map.
        return id
    }

    private func otherKind(_ key: Range<Int>) -> any Error {
        let name = CBORKey(stringValue: text(ofKey: key))
        return CBORMisuse.otherKind.error(path: path(to: current.id) + [name])
    }

    // MARK: Looking for a key

    /// The output before an offset. Another process may write there as well, so every load is checked.
    private func written(to end: Int) -> PayloadBytes { PayloadBytes(UnsafeRawBufferPointer(start: base, count: end)) }

    /// Both keys were written.
    private func isKey(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        let bytes = written(to: max(one.upperBound, other.upperBound))
        return bytes.equal(bytes.slice(other), from: one.lowerBound, to: one.upperBound)
    }

    /// The pair of the current map, somewhere before a key, that has the same key.
    private func pair(withKey key: Range<Int>) -> (key: Range<Int>, value: Range<Int>)? {
        var found: (key: Range<Int>, value: Range<Int>)?
        forEachPair(before: key.lowerBound) { name, value in
            if isKey(name, key) { found = (name, value) }
            return found == nil
        }
        return found
    }

    /// Ends early if the body says so, or where the bytes are not what we wrote.
    private func forEachPair(before end: Int, _ body: (_ key: Range<Int>, _ value: Range<Int>) -> Bool) {
        let bytes = written(to: end)
        // Values that are being encoded are no items yet.
        let unfinished = (current.number + 1..<max(frames.count, current.number + 1)).filter {
            frames[$0].isPushed && frames[$0].parent == current.number
        }
        var reader: CBORReader?
        defer { reader?.end() }
        var offset = current.start + CBORHead.size(UInt64(truncatingIfNeeded: current.count))
        while offset < end {
            if let number = unfinished.first(where: { frames[$0].key.lowerBound == offset }) {
                offset = max(frames[number].end, offset + 1)
                continue
            }
            guard let head = try? bytes.head(at: offset), head.major == .text, !head.isIndefinite,
                let value = try? bytes.endOfString(head)
            else { return }
            let next: Int
            if let quick = bytes.quickEnd(at: value) {
                next = quick
            } else {
                let scanning = reader ?? CBORReader.begin(bytes.all)
                reader = scanning
                guard let scanned = try? CBORScanner(scanning).end(ofItemAt: value, depth: 0) else { return }
                next = scanned
            }
            guard next <= end, body(offset..<value, value..<next) else { return }
            offset = next
        }
    }

    // MARK: Taking a pair out

    private mutating func remove(_ range: Range<Int>) throws {
        for number in current.number + 1..<max(frames.count, current.number + 1)
        where range.contains(frames[number].start) && frames[number].serial != 0 {
            // By the back door, from within the value that would go.
            if frames[number].isPushed { throw fail(CBORMisuse.twice.error(path: path(to: current.id))) }
            // Its containers are out of use from now on, and no longer move with the output.
            frames[number].serial = 0
            frames[number].start = -1
        }
        move(from: range.upperBound, by: -range.count)
    }

    // MARK: Large maps

    /// True: the map is large, and the key is new. False: the map may have the key. To search a large map for each of
    /// its keys would take the square of their number.
    mutating func isNewInLargeMap(from start: Int, to end: Int) -> Bool {
        guard current.count > CBORLimit.scannedPairs else { return false }
        let (number, hash) = (current.number, hash(start..<end))
        if let index = keySets.lastIndex(where: { $0.frame == number }) {
            return keySets[index].hashes.insert(hash).inserted
        }
        var set = CBORKeySet(frame: number)
        forEachPair(before: start) { key, _ in
            set.hashes.insert(self.hash(key))
            return true
        }
        let isNew = set.hashes.insert(hash).inserted
        keySets.append(set)
        // From now on every key is looked up in the set.
        current.keys = .max
        return isNew
    }

    private func hash(_ key: Range<Int>) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(start: base + key.lowerBound, count: key.count))
        // In bounds: the key was written there.
        return hasher.finalize()
    }
}

/// The hashes of a large map's keys. Two keys may have the same; then the map is searched.
struct CBORKeySet {
    /// The number of the map's frame.
    let frame: Int
    var hashes: Set<Int> = []
}
