#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CBORReader {
    func string(at place: CBORPlace) throws(CBORFault) -> String {
        let bytes = self.bytes
        let head = try bytes.content(at: place).head
        guard head.major == .text else { throw .mismatch(head, at: place.offset) }
        if head.isIndefinite { return try bytes.joinedText(head) }
        return try bytes.text(from: head.end, to: try bytes.endOfString(head))
    }

    func data(at place: CBORPlace) throws(CBORFault) -> Data {
        let bytes = self.bytes
        let head = try bytes.content(at: place).head
        guard head.major == .bytes else { throw .mismatch(head, at: place.offset) }
        if !head.isIndefinite {
            return data(from: head.end, to: try bytes.endOfString(head))
        }
        var joined = Data()
        var offset = head.end
        while let chunk = try bytes.endOfChunk(at: offset, of: .bytes) {
            joined.append(data(from: chunk.start, to: chunk.end))
            offset = chunk.end
        }
        return joined
    }

    /// The offsets are as in `CBORBytes.text(from:to:)`.
    private func data(from start: Int, to end: Int) -> Data {
        Data(bytes: bytes.base + start, count: end - start)
        // In bounds: `end` is at most the number of bytes. They are copied.
    }
}
