extension CBORBytes {
    /// A string of the bytes between two offsets, both of which the caller compared with `count`.
    ///
    /// They are copied first and validated then, where nobody else can write: a `String` of invalid UTF-8 would break
    /// the promises that the standard library relies on.
    @inline(__always)
    func text(from start: Int, to end: Int) throws(CBORFault) -> String {
        let source = UnsafeRawBufferPointer(start: base + start, count: end - start)
        // In bounds: `end` is at most `count`.
        let text = withUnsafeTemporaryAllocation(byteCount: source.count, alignment: 8) { copy -> String? in
            copy.copyMemory(from: source)
            let text = String(decoding: copy, as: UTF8.self)
            if CBORBytes.isASCII(UnsafeRawBufferPointer(copy)) { return text }
            // Bad UTF-8 has been repaired, that is, become something else.
            return text.utf8.elementsEqual(copy) ? text : nil
        }
        guard let text else { throw CBORFault(.notUTF8, at: start) }
        return text
    }

    /// A string of indefinite length. Each chunk must be valid by itself (RFC 8949, 3.2.3).
    func joinedText(_ head: CBORHead) throws(CBORFault) -> String {
        var joined = ""
        var offset = head.end
        while let chunk = try endOfChunk(at: offset, of: .text) {
            joined += try text(from: chunk.start, to: chunk.end)
            offset = chunk.end
        }
        return joined
    }

    /// The offsets are as in `text(from:to:)`.
    @inline(__always)
    func isASCII(from start: Int, to end: Int) -> Bool {
        CBORBytes.isASCII(UnsafeRawBufferPointer(start: base + start, count: end - start))
        // In bounds: `end` is at most `count`.
    }

    @inline(__always)
    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var seen: UInt64 = 0
        // In bounds: no load goes beyond `count`. The last one overlaps the one before it, which spares a loop over
        // the rest.
        if count >= 8 {
            var offset = 0
            while offset < count - 8 {
                seen |= base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                offset += 8
            }
            seen |= base.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        } else if count >= 4 {
            seen = UInt64(base.loadUnaligned(as: UInt32.self))
            seen |= UInt64(base.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
        } else {
            for byte in bytes { seen |= UInt64(byte) }
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }

    /// The offset behind a text of up to 23 bytes, if it is one and all of it is ASCII.
    @inline(__always)
    func endOfShortASCII(at offset: Int) -> Int? {
        guard offset < count else { return nil }
        let size = Int(base.load(fromByteOffset: offset, as: UInt8.self) ^ CBORMajor.text.initialByte)
        // In bounds: compared with `count` right before.
        guard size < 24, size < count &- offset, isASCII(from: offset + 1, to: offset + 1 + size) else { return nil }
        return offset + 1 + size
    }

    /// Whether the bytes between two offsets, as in `text(from:to:)`, are these.
    @inline(__always)
    func equal(_ name: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Bool {
        guard name.count == end - start else { return false }
        // Both are empty.
        guard let left = name.baseAddress else { return true }
        let (count, right) = (end - start, base + start)
        // In bounds on both sides, as above.
        if count >= 8 {
            var offset = 0
            while offset < count - 8 {
                if CBORBytes.differ(UInt64.self, left, right, offset) { return false }
                offset += 8
            }
            return !CBORBytes.differ(UInt64.self, left, right, count - 8)
        }
        if count >= 4 {
            return !CBORBytes.differ(UInt32.self, left, right, 0)
                && !CBORBytes.differ(UInt32.self, left, right, count - 4)
        }
        for offset in 0..<count where CBORBytes.differ(UInt8.self, left, right, offset) { return false }
        return true
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

    /// One bit of 64 for a text of up to 23 bytes that `endOfName` found: by its length and its last character, the same for equal texts.
    @inline(__always)
    func mark(from offset: Int, toKeyEnd end: Int) -> UInt64 {
        let last = base.load(fromByteOffset: end &- 1, as: UInt8.self)
        // In bounds: `endOfName` compared `end` with `count`, and it is at least 1.
        return 1 &<< (UInt64(truncatingIfNeeded: (end &- offset) &* 9) &+ UInt64(last))
    }

    func equal(_ name: [UInt8], from start: Int, to end: Int) -> Bool {
        name.withUnsafeBytes { equal($0, from: start, to: end) }
    }

    @inline(__always)
    private static func differ<I: FixedWidthInteger & BitwiseCopyable>(
        _ type: I.Type, _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ offset: Int
    ) -> Bool {
        left.loadUnaligned(fromByteOffset: offset, as: type) != right.loadUnaligned(fromByteOffset: offset, as: type)
        // In bounds: see the caller.
    }
}
