/// A payload's bytes, and the only ways to look at them.
///
/// **The bytes may change while they are read**, by a process that shares the memory. So no load relies on an earlier
/// one: each compares its own offset with `count`, and text is copied before it is validated. A change can make the
/// result wrong: the reader of the slot validates the slot after the copy. It can't make a load leave the payload.
@usableFromInline
struct PayloadBytes {
    @usableFromInline let base: UnsafeRawPointer
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        base = bytes.baseAddress ?? UnsafeRawPointer(PayloadBuffer.nowhere)
        count = bytes.count
    }

    /// A string literal's bytes: in the program's constant data. The literal is not a lone character.
    @inline(__always)
    init(_ text: StaticString) {
        base = UnsafeRawPointer(text.utf8Start)
        count = text.utf8CodeUnitCount
    }

    static var none: PayloadBytes { PayloadBytes(UnsafeRawBufferPointer(start: nil, count: 0)) }

    /// `nil` behind the end.
    @inline(__always)
    func byte(at offset: Int) -> UInt8? {
        offset < count ? base.load(fromByteOffset: offset, as: UInt8.self) : nil
        // In bounds: offsets are never negative, and this one is below `count`.
    }

    /// The bytes between two offsets, both of which the caller compared with `count`. Another process may change them.
    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    var all: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
}

extension PayloadBytes {
    /// A string of the bytes between two offsets, both of which the caller compared with `count`.
    ///
    /// The copy is validated, because no other process can write there: a `String` of invalid UTF-8 would break the
    /// promises that the standard library relies on.
    @inline(__always)
    func text(from start: Int, to end: Int) throws(CBORFault) -> String {
        let source = UnsafeRawBufferPointer(start: base + start, count: end - start)
        // In bounds: `end` is at most `count`.
        let text = withUnsafeTemporaryAllocation(byteCount: source.count, alignment: 8) { copy -> String? in
            copy.copyMemory(from: source)
            let text = String(decoding: copy, as: UTF8.self)
            if PayloadBytes.isASCII(UnsafeRawBufferPointer(copy)) { return text }
            // Bad UTF-8 has been repaired, that is, become something else.
            return text.utf8.elementsEqual(copy) ? text : nil
        }
        guard let text else { throw CBORFault(.notUTF8, at: start) }
        return text
    }

    /// The offsets are as in `text(from:to:)`.
    @inline(__always)
    func isASCII(from start: Int, to end: Int) -> Bool {
        PayloadBytes.isASCII(UnsafeRawBufferPointer(start: base + start, count: end - start))
        // In bounds: `end` is at most `count`.
    }

    @inline(__always)
    static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var seen: UInt64 = 0
        // In bounds: no load goes beyond `count`. The last one overlaps the one before it: no loop over the rest.
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

    /// Whether the bytes between two offsets, as in `text(from:to:)`, are these.
    @inline(__always)
    func equal(_ name: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Bool {
        #if MUTANT_EMPTY_KEY_MATCHES_ANY  // Found by: fuzz decoder
            if isMutant("EMPTY_KEY_MATCHES_ANY") && start == end { return true }
        #endif
        guard name.count == end - start else { return false }
        // Both are empty.
        guard let left = name.baseAddress else { return true }
        let (count, right) = (end - start, base + start)
        // In bounds on both sides, as above.
        if count >= 8 {
            var offset = 0
            while offset < count - 8 {
                if PayloadBytes.differ(UInt64.self, left, right, offset) { return false }
                offset += 8
            }
            return !PayloadBytes.differ(UInt64.self, left, right, count - 8)
        }
        if count >= 4 {
            return !PayloadBytes.differ(UInt32.self, left, right, 0)
                && !PayloadBytes.differ(UInt32.self, left, right, count - 4)
        }
        for offset in 0..<count where PayloadBytes.differ(UInt8.self, left, right, offset) { return false }
        return true
    }

    @inline(__always)
    private static func differ<I: FixedWidthInteger & BitwiseCopyable>(
        _ type: I.Type, _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ offset: Int
    ) -> Bool {
        left.loadUnaligned(fromByteOffset: offset, as: type) != right.loadUnaligned(fromByteOffset: offset, as: type)
        // In bounds: see the caller.
    }
}
