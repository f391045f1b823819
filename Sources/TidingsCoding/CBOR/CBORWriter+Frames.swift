extension CBORWriter {
    // MARK: Opening and closing

    /// Adds a frame without making it the current one.
    mutating func add(_ kind: CBORFrame.Kind, start: Int, _ spot: CBORFrame.Spot, depth: Int) -> CBORFrameID {
        lastSerial &+= 1
        // A serial comes round after 2³² frames of one thread. A stale container that lived as long would write into a
        // wrong place of this encoding, which is no worse than its use to begin with.
        if lastSerial == 0 { lastSerial = 1 }
        let number = frames.add()
        frames[number] = CBORFrame(
            start: start, end: start, count: 0, spot: spot, parent: current.id == .idle ? -1 : current.number,
            depth: depth, serial: lastSerial, kind: kind)
        return CBORFrameID(number: UInt32(truncatingIfNeeded: number), serial: lastSerial)
    }

    /// Makes a frame for the value that comes next, at the cursor, and makes it the current one.
    mutating func push(_ spot: CBORFrame.Spot) -> CBORFrameID {
        let depth = frames.count == 0 ? 0 : frames[current.number].depth
        let id = add(.empty, start: cursor, spot, depth: depth)
        frames[Int(id.number)].isPushed = true
        if current.id != .idle { saveCurrent() }
        current = Current(id: id, start: cursor)
        return id
    }

    /// Drops `child` and everything made since, and goes on at the end of `parent`.
    mutating func pop(_ child: CBORFrameID, to parent: CBORFrameID) {
        let number = Int(child.number)
        if !keySets.isEmpty { keySets.removeAll { $0.frame >= number } }
        // The usual case: both end where the output does.
        let endsWithOutput = current.id == child && !isInserting
        if !endsWithOutput { settle() }
        frames.count = number
        load(parent)
        if !endsWithOutput { moveCursor(to: frames[Int(parent.number)].end) }
    }

    // MARK: Changing places

    /// Makes `id` the frame that is written to. Throws if it belongs to a value that is finished.
    @inline(__always)
    mutating func activate(_ id: CBORFrameID) throws { if id != current.id { try change(to: id) } }

    @inline(never)
    private mutating func change(to id: CBORFrameID) throws {
        guard let number = number(of: id) else { throw CBORMisuse.finished.error(path: []) }
        settle()
        load(id)
        moveCursor(to: frames[number].end)
    }

    func number(of id: CBORFrameID) -> Int? {
        let number = Int(id.number)
        return number < frames.count && frames[number].serial == id.serial ? number : nil
    }

    /// Writes what is known of the current chain into its frames, before leaving it.
    private mutating func settle() {
        saveCurrent()
        if isInserting { return }
        used = cursor
        var number = current.number
        while number >= 0 {
            frames[number].end = cursor
            number = frames[number].parent
        }
    }

    private mutating func saveCurrent() {
        frames[current.number].count = current.count
        frames[current.number].keys = current.keys
    }

    private mutating func load(_ id: CBORFrameID) {
        let number = Int(id.number)
        current = Current(id: id, start: frames[number].start, count: frames[number].count, keys: frames[number].keys)
    }

    // MARK: Making containers

    /// Turns a place into a container, and returns it. Nothing can be thrown here: on failure the whole encoding fails,
    /// and every use of the returned frame. If the place belongs to an encoding that is over, only that use fails.
    mutating func become(_ kind: CBORFrame.Kind, _ id: CBORFrameID) -> CBORFrameID {
        orFail(id) { writer, number in
            let frame = writer.frames[number]
            if frame.kind == kind { return id }
            guard frame.kind == .empty || frame.kind == .reserved else {
                throw CBORMisuse.twice.error(path: writer.path(to: id))
            }
            guard frame.depth < CBORLimit.depth else { throw CBORMisuse.tooDeep.error(path: writer.path(to: id)) }
            try writer.claim(id)
            try writer.write(byte: kind.emptyItem)
            writer.frames[number].kind = kind
            writer.frames[number].depth += 1
            return id
        }
    }

    /// Makes a frame within the container `id`, as `become` does.
    mutating func orFail(
        _ id: CBORFrameID, _ make: (inout CBORWriter, _ number: Int) throws -> CBORFrameID
    ) -> CBORFrameID {
        guard let number = number(of: id) else { return .none }
        do {
            return try make(&self, number)
        } catch {
            fail(error)
            return .none
        }
    }

    /// Goes to a place that has no value yet, and frees it of what stands in for one.
    mutating func claim(_ id: CBORFrameID) throws {
        try activate(id)
        // `activate` throws unless the frame exists. The same holds below.
        switch frames[current.number].kind {
        case .empty: return
        case .reserved:
            takeBack(to: current.start)
            frames[current.number].kind = .empty
        case .single, .map, .array: throw CBORMisuse.twice.error(path: path(to: id))
        }
    }

    /// Undoes `claim`, for a value of which nothing is left.
    mutating func vacate(_ id: CBORFrameID, _ kind: CBORFrame.Kind) throws {
        try activate(id)
        if kind == .reserved { try write(byte: kind.emptyItem) }
        frames[current.number].kind = kind
    }

    /// Writes the header of a nested container in the current frame, or a place for later.
    mutating func addEntry(_ kind: CBORFrame.Kind, _ spot: CBORFrame.Spot) throws -> CBORFrameID {
        let depth = frames[current.number].depth + (kind == .reserved ? 0 : 1)
        let start = cursor
        try write(byte: kind.emptyItem)
        let id = add(kind, start: start, spot, depth: depth)
        frames[Int(id.number)].end = cursor
        guard depth <= CBORLimit.depth else { throw CBORMisuse.tooDeep.error(path: path(to: id)) }
        return id
    }

    /// Counts one more entry in the current container's header.
    @inline(__always)
    mutating func countEntry(_ major: CBORMajor) throws {
        let count = current.count + 1
        if count < 24 {
            base.storeBytes(
                of: major.initialByte | UInt8(truncatingIfNeeded: count), toByteOffset: current.start, as: UInt8.self)
            // In bounds: a container's header is written when its frame becomes one, and moves with it.
        } else {
            try widen(major, to: count)
        }
        current.count = count
    }

    @inline(never)
    private mutating func widen(_ major: CBORMajor, to count: Int) throws {
        let argument = UInt64(truncatingIfNeeded: count)
        let growth = CBORHead.size(argument) - CBORHead.size(argument - 1)
        if growth > 0 { try open(growth, at: current.start + 1) }
        CBORHead.put(major, argument, at: base + current.start)
        // In bounds: the header had the size for `count − 1`, and has been widened by the difference.
    }

    // MARK: Paths

    /// The keys that lead to a frame, read back from the output: only errors need them.
    func path(to id: CBORFrameID) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var number = number(of: id) ?? -1
        while number >= 0 {
            let frame = frames[number]
            if frame.spot.index >= 0 {
                path.append(CBORKey(intValue: frame.spot.index))
            } else if frame.spot.keyLength > 0 {
                path.append(CBORKey(stringValue: text(ofKey: frame.key), intValue: frame.spot.intKey))
            }
            number = frame.parent
        }
        return path.reversed()
    }

    func text(ofKey key: Range<Int>) -> String {
        var text = key.count
        // The head's size follows from the key's total size: the shortest form is one of these.
        for head in [1, 2, 3, 5, 9] where key.count > head && CBORHead.size(UInt64(key.count - head)) == head {
            text = key.count - head
        }
        if key.count == 1 { text = 0 }
        let bytes = UnsafeRawBufferPointer(start: base + (key.upperBound - text), count: text)
        // In bounds: the key was written right before the frame, and moves with it. Another process may have changed
        // it since; decoding repairs whatever it finds.
        return String(decoding: Array(bytes), as: UTF8.self)
    }
}
