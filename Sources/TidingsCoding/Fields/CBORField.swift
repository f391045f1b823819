/// Finds a field's bytes in a payload, without decoding it.
package enum CBORField {
    /// The bytes of the byte string that the payload's map has under that name, where they lie. Of equal names the
    /// first counts. Reads forward only, so the payload may change meanwhile.
    ///
    /// Throws a `DecodingError` if the payload is no map, if it has no such name, or if the value is no byte string in
    /// one piece.
    package static func bytes(of name: String, in payload: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
        var decoder = _FieldDecoder(payload)
        do {
            guard payload.count < 1 << 31 else { throw CBORFault(.tooLarge, at: 0) }
            var map = try decoder.beginMap()
            while let key = try decoder.nextKey(in: &map) {
                if key == name { return try decoder.byteString() }
                try decoder.skipValue()
            }
        } catch {
            throw FieldPath.error(error, at: name, expecting: [UInt8].self)
        }
        throw DecodingError.keyNotFound(
            CBORKey(stringValue: name),
            DecodingError.Context(codingPath: [], debugDescription: "the map has no key \"\(name)\""))
    }
}
