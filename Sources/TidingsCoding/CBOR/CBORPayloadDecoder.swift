/// Decodes one value from CBOR (RFC 8949) of any encoder.
///
/// Keys may come in any order, unknown ones and unknown tags are passed over, of equal keys the first counts. Nothing
/// that the bytes hold makes it crash, hang or read beyond them, not even if they change during the call.
package struct CBORPayloadDecoder: Sendable {
    let userInfo: [CodingUserInfoKey: any Sendable]

    package init(userInfo: [CodingUserInfoKey: any Sendable] = .init()) { self.userInfo = userInfo }

    /// Decodes the one item that `bytes` holds. They need to be valid during the call only. If other processes can
    /// change them meanwhile (`isShared`), the call takes no more time, memory and stack than for any bytes that stay.
    /// It may then refuse what a copy would not be refused for.
    ///
    /// Throws what the type's `init(from:)` throws, and `DecodingError`: `dataCorrupted` for anything but exactly one
    /// well-formed item nested at most 128 deep, the others as usual.
    package func decode<T: Decodable>(
        _ type: T.Type, from bytes: UnsafeRawBufferPointer, isShared: Bool = false
    ) throws -> T {
        try decode(type, bytes, at: 0, isShared) { (scanner) throws(CBORFault) in try scanner.scan() }
    }

    /// Decodes an item that is `depth` maps and arrays deep in a payload. `end` becomes the offset behind the item.
    /// Paths in errors begin at the item.
    func decode<T: Decodable>(
        _ type: T.Type, from bytes: UnsafeRawBufferPointer, isShared: Bool, at offset: Int, depth: Int, end: inout Int
    ) throws -> T {
        try decode(type, bytes, at: offset, isShared) { (scanner) throws(CBORFault) in
            end = try scanner.end(ofItemAt: offset, depth: depth)
        }
    }

    @inline(__always)
    private func decode<T: Decodable>(
        _ type: T.Type, _ bytes: UnsafeRawBufferPointer, at offset: Int, _ isShared: Bool,
        _ scan: (CBORScanner) throws(CBORFault) -> Void
    ) throws -> T {
        let reader = CBORReader.begin(bytes, isShared: isShared, userInfo: userInfo)
        defer { reader.end() }
        // The first span is the first that is found.
        let place = CBORPlace(offset: UInt32(truncatingIfNeeded: offset), span: 0)
        do {
            try scan(CBORScanner(reader))
            if let form = CBORForm.of(type) { return try form.read(type, reader, place) }
        } catch {
            throw error.error(expecting: type, path: [])
        }
        return try type.init(from: CBORDecoder(reader: reader, step: CBORStep.root, place: place))
    }
}
