/// Encodes one value as CBOR (RFC 8949), straight into memory that the caller owns.
///
/// Structs and classes become maps with text keys in the order of encoding, enums with payloads what Codable makes of
/// them, `Data` a byte string, `Date` tag 1 with a double or, where that would round, tag 0 with a text, `UUID` tag 37,
/// `URL` tag 32, `Decimal` tag 4. Lengths are definite, integers and lengths in shortest form, `Float` 32 and `Double`
/// 64 bits wide.
package struct CBORPayloadEncoder: Sendable {
    let userInfo: [CodingUserInfoKey: any Sendable]

    package init(userInfo: [CodingUserInfoKey: any Sendable] = .init()) { self.userInfo = userInfo }

    /// Appends `value` to what the buffer holds. With a `depth`, the value is that many maps and arrays deep in a
    /// payload; if it encodes nothing, it becomes an empty map.
    ///
    /// Throws what the value's `encode(to:)` throws, what growing the buffer throws, and `EncodingError` for a value
    /// that encodes nothing, that is nested more than 128 deep, or whose code misuses its containers. Nothing has been
    /// appended then.
    package func encode<T: Encodable>(_ value: T, into buffer: inout PayloadBuffer, depth: Int = 0) throws {
        let writer = CBORWriter.cache.take()
        defer { CBORWriter.cache.giveBack(writer) }
        try withUnsafeMutablePointer(to: &buffer) { buffer in
            writer.pointee.begin(buffer, userInfo: userInfo)
            defer { writer.pointee.end() }
            let root = writer.pointee.push(CBORFrame.Spot())
            if depth > 0 { writer.pointee.frames[0].depth = depth }
            // The root is frame 0 until the end.
            do {
                if let form = CBORForm.of(T.self) {
                    try form.write(value, to: &writer.pointee)
                } else {
                    try writer.encode(value, in: root, mayBeEmpty: depth > 0)
                }
            } catch {
                throw writer.pointee.failure ?? error
            }
            if let failure = writer.pointee.failure { throw failure }
            buffer.pointee.count = writer.pointee.outputEnd
            // The caller's variable, lent to this call alone.
        }
    }
}
