// A key that is encoded twice. As in Foundation, the last value wins, and nested containers for one key are one
// container. Decoders disagree on a map in which a key stands twice.
extension CBORWriter {
    /// Whether the key that was just written is new in the current map. If not, the pair that had the key is removed,
    /// and the new pair need not be counted.
    ///
    /// A map's `keys` has a bit for each key, by its length and two of its bytes. A bit that is not set yet proves that
    /// the key is new: that is all that the usual key costs.
    @inline(__always)
    func noteKey(from start: Int, to end: Int) throws -> Bool {
        if markKey(from: start, to: end) { return true }
        return try noteAgain(from: start, to: end)
    }

    /// True: the key is new. False: it may be there.
    @inline(__always)
    func markKey(from start: Int, to end: Int) -> Bool {
        let size = end &- start
        let last = UInt64(base.load(fromByteOffset: end &- 1, as: UInt8.self))
        let other = UInt64(base.load(fromByteOffset: start &+ size &>> 2, as: UInt8.self))
        // In bounds: a key has a head, so its size is at least 1. Another process may change the bytes: only a hint
        // changes.
        let mark: UInt64 = 1 &<< (UInt64(truncatingIfNeeded: size) &* 9 &+ last &+ other &* 4)
        let keys = currentKeys
        currentKeys = keys | mark
        return keys & mark == 0
    }

    @inline(never)
    func noteAgain(from start: Int, to end: Int) throws -> Bool {
        if isNewInLargeMap(from: start, to: end) { return true }
        guard let pair = pair(withKey: start..<end) else { return true }
        try remove(pair.key.lowerBound..<pair.value.upperBound)
        return false
    }

    /// As `encode(_:forKey:)`, for a key that the map may have: the old value goes when the new value is complete.
    @inline(never)
    func writeAgain<T: Encodable>(_ value: T, keyFrom start: Int, length: Int, intKey: Int?) throws {
        // The value may write to this map by the back door, and so move its own key. A frame there moves with it.
        let mark = add(.single, start: start, keyLength: 0, index: -1, intKey: nil, depth: 0)
        frames[Int(mark.number)].end = start
        defer { frameCount = Int(mark.number) }
        // In bounds: what the value adds comes behind this frame, and is dropped down to it.
        if try !writeKnown(value) { try writeOther(value, keyLength: length, index: -1, intKey: intKey) }
        let moved = frames[Int(mark.number)].start
        if try noteAgain(from: moved, to: moved + length) { try countEntry(.map) }
    }

    /// The nested container that the current map has for the key that was just written. That key is taken back then.
    /// Nil if the map does not have the key.
    func reopen(_ kind: CBORFrame.Kind, keyFrom start: Int) throws -> CBORFrameID? {
        let key = start..<cursor
        for number in stride(from: frameCount - 1, to: Int(current.number), by: -1) {
            let frame = frames[number]
            guard frame.parent == current.number, frame.serial != 0, !frame.isPushed, frame.keyLength == key.count,
                isKey(frame.start - frame.keyLength..<frame.start, key)
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
        let depth = frames[Int(current.number)].depth + 1
        guard depth <= CBORLimit.depth else { throw CBORMisuse.tooDeep.error(path: path(to: current)) }
        let id = add(
            kind, start: pair.value.lowerBound, keyLength: key.count, index: -1, intKey: nil, depth: depth)
        frames[Int(id.number)].end = pair.value.upperBound
        frames[Int(id.number)].count = Int(head.argument)
        frames[Int(id.number)].keys = .max
        // In bounds: just added. The count is one of bytes that are there; all keys may be in such a map.
        return id
    }

    private func otherKind(_ key: Range<Int>) -> any Error {
        let name = CBORKey(stringValue: text(ofKey: key))
        return CBORMisuse.otherKind.error(path: path(to: current) + [name])
    }

    // MARK: Looking for a key

    /// The output before an offset. Another process may write there as well, so every load is checked.
    private func written(to end: Int) -> PayloadBytes { PayloadBytes(UnsafeRawBufferPointer(start: base, count: end)) }

    private func isKey(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        written(to: max(one.upperBound, other.upperBound)).equal(
            UnsafeRawBufferPointer(start: base + other.lowerBound, count: other.count), from: one.lowerBound,
            to: one.upperBound)
        // In bounds: both were written.
    }

    /// The pair of the current map, somewhere before a key, that has the same key.
    private func pair(withKey key: Range<Int>) -> (key: Range<Int>, value: Range<Int>)? {
        var found: (key: Range<Int>, value: Range<Int>)?
        forEachPair(before: key.lowerBound) { name, value in
            if name.count == key.count, isKey(name, key) { found = (name, value) }
            return found == nil
        }
        return found
    }

    /// Ends early if the body says so, or where the bytes are not what we wrote.
    private func forEachPair(before end: Int, _ body: (_ key: Range<Int>, _ value: Range<Int>) -> Bool) {
        let bytes = written(to: end)
        // Values that are being encoded are no items yet.
        let unfinished = (Int(current.number) + 1..<max(frameCount, Int(current.number) + 1)).filter {
            frames[$0].isPushed && frames[$0].parent == Int(current.number)
        }
        var reader: CBORReader?
        defer { if let reader { give(back: reader) } }
        var offset = currentStart + CBORHead.size(UInt64(truncatingIfNeeded: currentCount))
        while offset < end {
            if let number = unfinished.first(where: { frames[$0].start - frames[$0].keyLength == offset }) {
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
                let scanning = reader ?? CBORThreadCache.takeReader()
                if reader == nil {
                    scanning.begin(UnsafeRawBufferPointer(start: base, count: end), userInfo: [:])
                    reader = scanning
                }
                guard let scanned = try? CBORScanner(scanning).end(ofItemAt: value, depth: 0) else { return }
                next = scanned
            }
            guard next <= end, body(offset..<value, value..<next) else { return }
            offset = next
        }
    }

    private func give(back reader: CBORReader) {
        reader.end()
        CBORThreadCache.giveBack(reader)
    }

    // MARK: Taking a pair out

    private func remove(_ range: Range<Int>) throws {
        for number in Int(current.number) + 1..<max(frameCount, Int(current.number) + 1)
        where range.contains(frames[number].start) && frames[number].serial != 0 {
            // By the back door, from within the value that would go.
            if frames[number].isPushed { throw fail(CBORMisuse.twice.error(path: path(to: current))) }
            // Its containers are out of use from now on, and no longer move with the output.
            frames[number].serial = 0
            frames[number].start = -1
        }
        let end = isInserting ? used : cursor
        (base + range.lowerBound).copyMemory(from: base + range.upperBound, byteCount: end - range.upperBound)
        // In bounds: the pair lies before the cursor, so before the end; `copyMemory` allows the overlap.
        shift(from: range.upperBound, by: -range.count)
        cursor -= range.count
        if isInserting {
            used -= range.count
            limit = cursor
        }
    }

    // MARK: Large maps

    /// True: the map is large, and the key is new. False: the map may have the key. To search a large map for each of
    /// its keys would take the square of their number.
    func isNewInLargeMap(from start: Int, to end: Int) -> Bool {
        guard currentCount > CBORLimit.scannedPairs else { return false }
        let number = Int(current.number)
        if let index = state.pointee.keySets.lastIndex(where: { $0.frame == number }) {
            let hash = hash(start..<end)
            return state.pointee.keySets[index].insert(hash)
        }
        var set = CBORKeySet(frame: number)
        forEachPair(before: start) { key, _ in
            _ = set.insert(hash(key))
            return true
        }
        let isNew = set.insert(hash(start..<end))
        state.pointee.keySets.append(set)
        state.pointee.hasKeySets = true
        // From now on every key is looked up in the set.
        currentKeys = .max
        return isNew
    }

    private func hash(_ key: Range<Int>) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(start: base + key.lowerBound, count: key.count))
        // In bounds: the key was written there.
        return hasher.finalize()
    }

    /// Of frames that are dropped.
    @inline(never)
    func dropKeySets(from number: Int) {
        state.pointee.keySets.removeAll { $0.frame >= number }
        state.pointee.hasKeySets = !state.pointee.keySets.isEmpty
    }
}

/// The hashes of a large map's keys. Two keys may have the same; then the map is searched.
struct CBORKeySet {
    /// The number of the map's frame.
    let frame: Int
    private var hashes: Set<Int> = []

    init(frame: Int) { self.frame = frame }

    /// False: the set had the hash.
    mutating func insert(_ hash: Int) -> Bool { hashes.insert(hash).inserted }
}
