extension CBORWriter {
    // MARK: Opening and closing

    /// Adds a frame without making it the current one.
    func add(
        _ kind: CBORFrame.Kind, start: Int, keyLength: Int, index: Int, intKey: Int?, depth: Int
    ) -> CBORFrameID {
        if frameCount == frameCapacity { growFrames() }
        lastSerial &+= 1
        // A serial comes round after 2³² frames of one thread; a stale container that lived as long is told apart by
        // nothing, and would write into a wrong place of this encoding, which is no worse than its use to begin with.
        if lastSerial == 0 { lastSerial = 1 }
        frames[frameCount] = CBORFrame(
            start: start, end: start, count: 0, keyLength: keyLength, index: index, intKey: intKey,
            parent: current == .idle ? -1 : Int(current.number), depth: depth, serial: lastSerial, kind: kind)
        // In bounds: `frameCount < frameCapacity`, ensured above.
        frameCount += 1
        return CBORFrameID(number: UInt32(truncatingIfNeeded: frameCount - 1), serial: lastSerial)
    }

    @inline(never)
    private func growFrames() {
        let grown = UnsafeMutablePointer<CBORFrame>.allocate(capacity: frameCapacity * 2)
        grown.update(from: frames, count: frameCount)
        // Both hold at least `frameCount` frames, and frames are trivial.
        frames.deallocate()
        frames = grown
        frameCapacity *= 2
    }

    /// Gives back the memory that only an unusual value needed.
    func shrinkFrames() {
        guard frameCapacity > 1 << 10 else { return }
        frames.deallocate()
        // Frames are trivial, and none of them is used any more.
        frameCapacity = 16
        frames = .allocate(capacity: frameCapacity)
    }

    /// Makes a frame for the value that comes next, at the cursor, and makes it the current one.
    func push(keyLength: Int, index: Int, intKey: Int?) -> CBORFrameID {
        let depth = frameCount == 0 ? 0 : frames[Int(current.number)].depth
        let id = add(.empty, start: cursor, keyLength: keyLength, index: index, intKey: intKey, depth: depth)
        frames[Int(id.number)].isPushed = true
        if current != .idle {
            frames[Int(current.number)].count = currentCount
            frames[Int(current.number)].keys = currentKeys
        }
        // The current frame is always one of the first `frameCount`.
        current = id
        currentStart = cursor
        currentCount = 0
        currentKeys = 0
        return id
    }

    /// Drops `child` and everything made since, and goes on at the end of `parent`.
    func pop(_ child: CBORFrameID, to parent: CBORFrameID) {
        if hasKeySets { dropKeySets(from: Int(child.number)) }
        if current == child && !isInserting {
            // The usual case: both end where the output does.
            frameCount = Int(child.number)
            load(parent)
            return
        }
        settle()
        frameCount = Int(child.number)
        load(parent)
        moveCursor(to: frames[Int(parent.number)].end)
    }

    // MARK: Changing places

    /// Makes `id` the frame that is written to. Throws if it belongs to a value that is finished.
    @inline(__always)
    func activate(_ id: CBORFrameID) throws {
        if id != current { try change(to: id) }
    }

    @inline(never)
    private func change(to id: CBORFrameID) throws {
        guard let number = number(of: id) else { throw CBORMisuse.finished.error(path: []) }
        settle()
        load(id)
        moveCursor(to: frames[number].end)
    }

    func number(of id: CBORFrameID) -> Int? {
        let number = Int(id.number)
        guard number < frameCount, frames[number].serial == id.serial else { return nil }
        return number
    }

    /// Writes what is known of the current chain into its frames, before leaving it.
    func settle() {
        frames[Int(current.number)].count = currentCount
        frames[Int(current.number)].keys = currentKeys
        if isInserting { return }
        used = cursor
        var number = Int(current.number)
        while number >= 0 {
            frames[number].end = cursor
            number = frames[number].parent
        }
    }

    private func load(_ id: CBORFrameID) {
        let number = Int(id.number)
        current = id
        currentStart = frames[number].start
        currentCount = frames[number].count
        currentKeys = frames[number].keys
    }

    /// Only with `used` and the frames' ends settled.
    private func moveCursor(to position: Int) {
        cursor = position
        isInserting = position != used
        limit = isInserting ? cursor : max(cursor, capacity)
    }

    /// Accounts for `size` bytes that appeared at `position`, or vanished before it.
    func shift(from position: Int, by size: Int) {
        // The current frame and those around it contain the position, whatever begins behind it moves. A frame that
        // begins exactly there is a later one, unless it is on the chain.
        var chain = Int(current.number)
        var number = frameCount - 1
        while number >= 0 {
            if number == chain {
                frames[number].end += size
                chain = frames[number].parent
            } else if frames[number].start >= position {
                frames[number].start += size
                frames[number].end += size
            }
            number -= 1
        }
        // A parent is always made before its children, so counting down meets the chain in order.
        currentStart = frames[Int(current.number)].start
    }

    // MARK: Counting

    /// Counts one more entry in the current container's header.
    @inline(__always)
    func countEntry(_ major: CBORMajor) throws {
        let count = currentCount + 1
        if count < 24 {
            base.storeBytes(
                of: major.initialByte | UInt8(truncatingIfNeeded: count), toByteOffset: currentStart, as: UInt8.self)
            // In bounds: a container's header is written when its frame becomes one, and moves with it.
        } else {
            try widen(major, to: count)
        }
        currentCount = count
    }

    @inline(never)
    private func widen(_ major: CBORMajor, to count: Int) throws {
        let argument = UInt64(truncatingIfNeeded: count)
        let growth = CBORHead.size(argument) - CBORHead.size(argument - 1)
        if growth > 0 { try open(growth, at: currentStart + 1) }
        CBORWriter.putHead(major, argument, at: base + currentStart)
        // In bounds: the header had the size for `count − 1`, and has been widened by the difference.
    }

    // MARK: Paths

    /// The keys that lead to a frame, read back from the output: only errors need them.
    func path(to id: CBORFrameID) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var number = number(of: id) ?? -1
        while number >= 0 {
            let frame = frames[number]
            if frame.index >= 0 {
                path.append(CBORKey(intValue: frame.index))
            } else if frame.keyLength > 0 {
                path.append(
                    CBORKey(stringValue: key(before: frame.start, length: frame.keyLength), intValue: frame.intKey))
            }
            number = frame.parent
        }
        return path.reversed()
    }

    private func key(before end: Int, length: Int) -> String { text(ofKey: end - length..<end) }

    func text(ofKey key: Range<Int>) -> String {
        let (end, length) = (key.upperBound, key.count)
        var text = length
        // The head's size follows from the key's total size: the shortest form is one of these.
        for head in [1, 2, 3, 5, 9] where length > head && CBORHead.size(UInt64(length - head)) == head {
            text = length - head
        }
        if length == 1 { text = 0 }
        let bytes = UnsafeRawBufferPointer(start: base + (end - text), count: text)
        // In bounds: the key was written right before the frame, and moves with it. Another process may have changed
        // it since; decoding repairs whatever it finds.
        return String(decoding: Array(bytes), as: UTF8.self)
    }
}
