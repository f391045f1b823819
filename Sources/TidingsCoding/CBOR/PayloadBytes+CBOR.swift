// The one parser of CBOR heads, and what reads an item by its head.
extension PayloadBytes {
    @inline(__always)
    func head(at offset: Int) throws(CBORFault) -> CBORHead {
        guard offset < count else { throw CBORFault(.truncated, at: offset) }
        let first = base.load(fromByteOffset: offset, as: UInt8.self)
        // In bounds: offsets are never negative, and this one is below `count`.
        let major = unsafeBitCast(first >> 5, to: CBORMajor.self)
        // Three bits: the type's eight cases are numbered from 0 on, as its raw values say too.
        let info = first & 31
        if info < 24 { return CBORHead(major: major, info: info, argument: UInt64(info), end: offset + 1) }
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
        #if MUTANT_ARGUMENT_BEYOND_END  // Found by: fuzz decoder
            let count = isMutant("ARGUMENT_BEYOND_END") ? Int.max : self.count
        #endif
        var head = CBORHead(major: major, info: info, argument: 0, end: offset + 1)
        switch info {
        case 24...27:
            let size = 1 << Int(info - 24)
            guard count - head.end >= size else { throw CBORFault(.truncated, at: head.end) }
            for _ in 0..<size {
                // Not `load`: in a debug build the fuzzer's sanitizer would not see it.
                let byte = base.loadUnaligned(fromByteOffset: head.end, as: UInt8.self)
                // In bounds: that many bytes remain.
                head.argument = head.argument << 8 | UInt64(byte)
                head.end += 1
            }
            // RFC 8949, 3.3: the smaller values have the short form only.
            if major == .simple && info == 24 && head.argument < 32 { throw CBORFault(.simpleForm, at: offset) }
        case 31:
            if major == .unsigned || major == .negative || major == .tag { throw CBORFault(.indefinite, at: offset) }
        default: throw CBORFault(.reserved, at: offset)
        }
        return head
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

    /// The number of an array's elements or a map's pairs, −1 for indefinite length.
    @inline(__always)
    func count(of container: CBORHead) throws(CBORFault) -> Int {
        if container.isIndefinite { return -1 }
        // Every element takes a byte or more, and so does every key: a count beyond the bytes that remain is a lie.
        let isMap = container.major == .map
        guard container.argument <= UInt64(truncatingIfNeeded: count &- container.end) &>> (isMap ? 1 : 0) else {
            throw CBORFault(isMap ? .longMap : .longArray, at: container.end)
        }
        return Int(truncatingIfNeeded: container.argument)
    }

    /// The offset behind a string of definite length.
    @inline(__always)
    func endOfString(_ head: CBORHead) throws(CBORFault) -> Int {
        #if MUTANT_STRING_LENGTH_UNCHECKED  // Found by: fuzz decoder
            if isMutant("STRING_LENGTH_UNCHECKED") { return head.end &+ Int(truncatingIfNeeded: head.argument) }
        #endif
        // The end of a head is at most `count`.
        guard head.argument <= UInt64(truncatingIfNeeded: count &- head.end) else {
            throw CBORFault(.longString, at: head.end)
        }
        return head.end &+ Int(truncatingIfNeeded: head.argument)
        // Exact, for the argument is at most `count`.
    }

    /// Calls `body` with the offsets of a string's pieces: the whole string, or each chunk of one of indefinite length.
    /// Returns the offset behind the string.
    @discardableResult
    func pieces(
        of string: CBORHead, _ body: (_ start: Int, _ end: Int) throws(CBORFault) -> Void
    ) throws(CBORFault) -> Int {
        if !string.isIndefinite {
            let end = try endOfString(string)
            try body(string.end, end)
            return end
        }
        var offset = string.end
        while true {
            let chunk = try head(at: offset)
            if chunk.isStop { return chunk.end }
            guard chunk.major == string.major, !chunk.isIndefinite else { throw CBORFault(.chunk, at: offset) }
            offset = try endOfString(chunk)
            try body(chunk.end, offset)
        }
    }

    /// A text, and the offset behind it. Each chunk must be valid UTF-8 by itself (RFC 8949, 3.2.3).
    func text(of string: CBORHead) throws(CBORFault) -> (text: String, end: Int) {
        var text = ""
        let end = try pieces(of: string) { (start, end) throws(CBORFault) in
            text += try self.text(from: start, to: end)
        }
        return (text, end)
    }

    /// What the key at an offset says, and the offset behind it. `nil`: a key that is neither text nor an integer.
    func key(at offset: Int) throws(CBORFault) -> (name: CBORKeyName, end: Int)? {
        let head = try head(at: offset)
        switch head.major {
        case .unsigned: return (.integer(Int128(head.argument)), head.end)
        case .negative: return (.integer(~Int128(head.argument)), head.end)
        case .text where head.isIndefinite:
            let (text, end) = try text(of: head)
            return (.joined(text), end)
        case .text:
            let end = try endOfString(head)
            return (.text(head.end, end), end)
        default: return nil
        }
    }

    @inline(__always)
    func isStop(at offset: Int) throws(CBORFault) -> Bool {
        guard offset < count else { throw CBORFault(.truncated, at: offset) }
        return base.load(fromByteOffset: offset, as: UInt8.self) == CBORByte.stop
        // In bounds: compared with `count` above.
    }

    // MARK: By the first byte

    /// The offset behind an item, if its first byte says its size and all of it is there; nil takes the long way.
    @inline(__always)
    func quickEnd(at offset: Int) -> Int? {
        guard offset < count else { return nil }
        var size = CBORQuickSize.of(base.load(fromByteOffset: offset, as: UInt8.self))
        // In bounds: offsets are never negative, and this one is below `count`.
        if size == CBORQuickSize.oneByteLength {
            guard count &- offset > 1 else { return nil }
            size = 2 + Int(base.load(fromByteOffset: offset + 1, as: UInt8.self))
            // In bounds: two bytes or more remain.
        }
        return size != 0 && size <= count &- offset ? offset &+ size : nil
    }

    // MARK: Short keys

    /// The offset behind a text of up to 23 bytes, if it is one and all of it is ASCII.
    @inline(__always)
    func endOfShortASCII(at offset: Int) -> Int? {
        guard offset < count else { return nil }
        let size = Int(base.load(fromByteOffset: offset, as: UInt8.self) ^ CBORMajor.text.initialByte)
        // In bounds: compared with `count` right before.
        guard size < 24, size < count &- offset, isASCII(from: offset + 1, to: offset + 1 + size) else { return nil }
        return offset + 1 + size
    }

    /// The offset behind a text of up to 23 bytes, if it is this name; nil if anything is different.
    @inline(__always)
    func endOfName(_ name: UnsafeRawBufferPointer, at offset: Int) -> Int? {
        let size = name.count
        guard size < 24, count - offset > size,
            base.load(fromByteOffset: offset, as: UInt8.self) == CBORMajor.text.initialByte | UInt8(size),
            // In bounds: more than `size` bytes remain.
            equal(name, from: offset + 1, to: offset + 1 + size)
        else { return nil }
        return offset + 1 + size
    }

    /// One bit of 64 for a text of up to 23 bytes that `endOfName` found, by its length and its last character: the
    /// same for equal texts.
    @inline(__always)
    func mark(from offset: Int, toKeyEnd end: Int) -> UInt64 {
        let last = base.load(fromByteOffset: end &- 1, as: UInt8.self)
        // In bounds: `endOfName` compared `end` with `count`, and it is at least 1.
        return 1 &<< (UInt64(truncatingIfNeeded: (end &- offset) &* 9) &+ UInt64(last))
    }
}
