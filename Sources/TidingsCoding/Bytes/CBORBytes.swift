/// A payload's bytes, and the only ways to look at them.
///
/// **The bytes may change while they are read.** They can lie in shared memory that another process writes to. So
/// nothing that an earlier look established is relied upon: each access compares its own offsets with `count`, and
/// bytes that have to satisfy a condition (text) are copied before they are examined. A change can make the result
/// wrong, which whoever hands out such memory has to notice; it can't make a read go astray.
struct CBORBytes {
    let base: UnsafeRawPointer
    let count: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        base = bytes.baseAddress ?? CBORBytes.none.base
        count = bytes.count
    }

    private init() {
        base = UnsafeRawPointer(bitPattern: 16).unsafelyUnwrapped
        // Not zero, hence not nil; never dereferenced, for there are no bytes.
        count = 0
    }

    static var none: CBORBytes { CBORBytes() }

    @inline(__always)
    func head(at offset: Int) throws(CBORFault) -> CBORHead {
        guard offset < count else { throw CBORFault(.truncated, at: offset) }
        let first = base.load(fromByteOffset: offset, as: UInt8.self)
        // In bounds: offsets are never negative, and this one is below `count`.
        let major = unsafeBitCast(first >> 5, to: CBORMajor.self)
        // Three bits: the type's eight cases are numbered from 0 on, as its raw values say too.
        let info = first & 31
        if info < 24 {
            return CBORHead(major: major, info: info, argument: UInt64(info), end: offset + 1)
        }
        if info < 28 && count - offset >= 9 && (info > 24 || major != .simple) {
            let wide = UInt64(bigEndian: base.loadUnaligned(fromByteOffset: offset + 1, as: UInt64.self))
            // In bounds: 9 bytes or more remain. The argument's own 1, 2, 4 or 8 are the upper ones of these.
            let size = 1 &<< Int(info - 24)
            return CBORHead(
                major: major, info: info, argument: wide &>> UInt64(64 - 8 * size), end: offset + 1 + size)
        }
        return try unusualHead(major, info, at: offset)
    }

    /// A head close to the end, of a simple value in two bytes, of indefinite length, or a bad one.
    @inline(never)
    private func unusualHead(_ major: CBORMajor, _ info: UInt8, at offset: Int) throws(CBORFault) -> CBORHead {
        var head = CBORHead(major: major, info: info, argument: 0, end: offset + 1)
        switch info {
        case 24:
            head.argument = UInt64(try load(UInt8.self, at: offset + 1))
            if major == .simple && head.argument < 32 { throw CBORFault(.simpleForm, at: offset) }
        case 25: head.argument = UInt64(try load(UInt16.self, at: offset + 1))
        case 26: head.argument = UInt64(try load(UInt32.self, at: offset + 1))
        case 27: head.argument = try load(UInt64.self, at: offset + 1)
        case 31:
            if major == .unsigned || major == .negative || major == .tag {
                throw CBORFault(.indefinite, at: offset)
            }
            return head
        default: throw CBORFault(.reserved, at: offset)
        }
        head.end += 1 << Int(info - 24)
        return head
    }

    private func load<I: FixedWidthInteger>(_ type: I.Type, at offset: Int) throws(CBORFault) -> I {
        guard count - offset >= MemoryLayout<I>.size else { throw CBORFault(.truncated, at: offset) }
        return I(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: I.self))
        // In bounds: that many bytes remain.
    }

    /// The head of the content behind any tags, and the innermost tag.
    @inline(__always)
    func content(at place: CBORPlace) throws(CBORFault) -> (head: CBORHead, tag: UInt64?) {
        if place == .missing { throw CBORFault(.null, at: count) }
        let head = try head(at: Int(place.offset))
        if head.major != .tag { return (head, nil) }
        return try content(behind: head)
    }

    @inline(never)
    func content(behind first: CBORHead) throws(CBORFault) -> (head: CBORHead, tag: UInt64?) {
        var head = first
        for _ in 0..<CBORLimit.tags {
            let tag = head.argument
            head = try self.head(at: head.end)
            if head.major != .tag { return (head, tag) }
        }
        throw CBORFault(.tags, at: head.end)
    }

    /// The offset behind a string of definite length.
    @inline(__always)
    func endOfString(_ head: CBORHead) throws(CBORFault) -> Int {
        // The end of a head is at most `count`.
        guard head.argument <= UInt64(truncatingIfNeeded: count &- head.end) else {
            throw CBORFault(.longString, at: head.end)
        }
        return head.end &+ Int(truncatingIfNeeded: head.argument)
        // Exact, for the argument is at most `count`.
    }

    /// The offset behind one chunk of a string of indefinite length, nil if it is the stop.
    func endOfChunk(at offset: Int, of major: CBORMajor) throws(CBORFault) -> (start: Int, end: Int)? {
        let chunk = try head(at: offset)
        if chunk.isStop { return nil }
        guard chunk.major == major, !chunk.isIndefinite else { throw CBORFault(.chunk, at: offset) }
        return (chunk.end, try endOfString(chunk))
    }

    @inline(__always)
    func isStop(at offset: Int) throws(CBORFault) -> Bool {
        guard offset < count else { throw CBORFault(.truncated, at: offset) }
        return base.load(fromByteOffset: offset, as: UInt8.self) == CBORByte.stop
        // In bounds: compared with `count` above.
    }
}
