/// Finds a field's bytes in a payload, without decoding it.
package enum CBORField {
    /// The bytes of the byte string that the payload's map has under that name, where they lie. Of equal names the
    /// first counts. Reads forward only, so the payload may change meanwhile.
    ///
    /// Throws a `DecodingError` if the payload is no map, if it has no such name, or if the value is no byte string in
    /// one piece.
    package static func bytes(of name: String, in payload: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
        do throws(CBORFault) {
            guard payload.count < 1 << 31 else { throw CBORFault(.tooLarge, at: 0) }
            if let bytes = try find(name, in: payload) { return bytes }
        } catch {
            throw error.error(expecting: [UInt8].self, path: [CBORKey(stringValue: name)])
        }
        throw DecodingError.keyNotFound(
            CBORKey(stringValue: name),
            DecodingError.Context(codingPath: [], debugDescription: "the map has no key \"\(name)\""))
    }

    private static func find(
        _ name: String, in payload: UnsafeRawBufferPointer
    ) throws(CBORFault) -> UnsafeRawBufferPointer? {
        let reader = CBORReader.begin(payload)
        defer { reader.end() }
        var cursor = ByteCursor(payload)
        let map = try cursor.takeContent().head
        guard map.major == .map else { throw .mismatch(map, at: 0) }
        var left = try cursor.bytes.count(of: map)
        let scanner = CBORScanner(reader)
        while left > 0 || left < 0 {
            if left > 0 { left -= 1 } else if try cursor.takeStop() { return nil }
            let start = cursor.offset
            guard let (key, end) = try cursor.bytes.key(at: start) else { throw CBORFault(.keys, at: start) }
            cursor.offset = end
            guard try key.string(in: cursor.bytes) == name else {
                cursor.offset = try scanner.end(ofItemAt: end, depth: 1)
                continue
            }
            let value = try cursor.takeContent().head
            guard value.major == .bytes else { throw .mismatch(value, at: UInt32(truncatingIfNeeded: end)) }
            guard !value.isIndefinite else { throw CBORFault(.chunk, at: end) }
            return cursor.bytes.slice(value.end..<(try cursor.bytes.endOfString(value)))
        }
        return nil
    }
}
