/// A payload's bytes, and the offset of the next one. The `Codable` decoder jumps between the values of a map: it keeps
/// offsets (`CBORPlace`) into the same bytes.
@usableFromInline
struct ByteCursor {
    @usableFromInline let bytes: PayloadBytes
    @usableFromInline var offset = 0

    @inlinable @inline(__always) init(_ bytes: UnsafeRawBufferPointer) { self.bytes = PayloadBytes(bytes) }

    @inlinable @inline(__always) var isAtEnd: Bool { offset >= bytes.count }

    /// The next byte, not taken yet. `nil` at the end.
    @inline(__always) var next: UInt8? { bytes.byte(at: offset) }

    @inline(__always)
    mutating func take() -> UInt8? {
        guard let byte = next else { return nil }
        offset &+= 1
        return byte
    }

    /// Takes the next byte if it is this character.
    @inline(__always)
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset &+= 1
        return true
    }

    /// Returns the digits' offsets.
    mutating func takeDigits() -> Range<Int> {
        let start = offset
        while let byte = next, 0x30...0x39 ~= byte { offset &+= 1 }
        return start..<offset
    }

    // MARK: CBOR

    /// The head of the content behind any tags, and the innermost tag. Moves behind the head.
    @inline(__always)
    mutating func takeContent() throws(CBORFault) -> (head: CBORHead, tag: UInt64?) {
        var (head, tag) = (try bytes.head(at: offset), nil as UInt64?)
        if head.major == .tag { (head, tag) = try bytes.content(behind: head) }
        offset = head.end
        return (head, tag)
    }

    /// Moves behind the stop of an indefinite length, if that is next.
    @inline(__always)
    mutating func takeStop() throws(CBORFault) -> Bool {
        guard try bytes.isStop(at: offset) else { return false }
        offset &+= 1
        return true
    }
}
