/// Encodes one value as CBOR (RFC 8949), straight into memory that the caller owns.
///
/// Structs and classes become maps with text keys in the order of encoding, enums with payloads what Codable makes of
/// them, `Data` a byte string, `Date` tag 1 with a double or, where that would round, tag 0 with a text, `UUID` tag 37,
/// `URL` tag 32, `Decimal` tag 4. Lengths are definite, integers and lengths in shortest form, `Float` 32 and `Double`
/// 64 bits wide.
package struct CBORPayloadEncoder: Sendable {
    package var userInfo = [CodingUserInfoKey: any Sendable]()

    package init() {}

    package init(userInfo: [CodingUserInfoKey: any Sendable]) { self.userInfo = userInfo }

    /// Appends `value` to what the buffer holds.
    ///
    /// Throws what the value's `encode(to:)` throws, what growing the buffer throws, and `EncodingError` for a value
    /// that encodes nothing, that is nested more than 128 deep, or whose code misuses its containers. Nothing has been
    /// appended then.
    ///
    /// With a `depth`, the value is that many maps and arrays deep in a payload. If it encodes nothing, it becomes an
    /// empty map.
    package func encode<T: Encodable>(_ value: T, into buffer: inout PayloadBuffer, depth: Int = 0) throws {
        let writer = CBORThreadCache.takeWriter()
        defer { CBORThreadCache.giveBack(writer) }
        try withUnsafeMutablePointer(to: &buffer) { buffer in
            writer.begin(buffer, userInfo: userInfo)
            defer { writer.end() }
            let root = writer.push(keyLength: 0, index: -1, intKey: nil)
            if depth > 0 { writer.frames[0].depth = depth }
            // In bounds: the root is frame 0 until the end.
            do {
                try writer.writeRoot(value, root)
            } catch {
                throw writer.failure ?? error
            }
            if let failure = writer.failure { throw failure }
            buffer.pointee.count = writer.length
            // The caller's variable, lent to this call alone.
        }
    }
}

extension CBORWriter {
    /// The end of the output, wherever the cursor is.
    var length: Int { isInserting ? used : cursor }

    func begin(_ buffer: UnsafeMutablePointer<PayloadBuffer>, userInfo: [CodingUserInfoKey: any Sendable]) {
        self.buffer = buffer
        if !userInfo.isEmpty { self.userInfo = userInfo }
        cursor = buffer.pointee.count
        // The caller's variable, valid until `end`.
        adoptMemory()
    }

    /// Lets go of everything, so that a container that outlives the encoding finds no frame to write to.
    func end() {
        buffer = nil
        base = CBORWriter.nowhere
        cursor = 0
        limit = 0
        used = 0
        isInserting = false
        if failure != nil { failure = nil }
        if !userInfo.isEmpty { userInfo = [:] }
        frameCount = 0
        current = .idle
        if hasKeySets { dropKeySets(from: 0) }
        shrinkFrames()
    }

    /// As `write`, for the value at the top.
    func writeRoot<T: Encodable>(_ value: T, _ root: CBORFrameID) throws {
        if try writeKnown(value) { return }
        try value.encode(to: CBOREncoder(writer: self, frame: root))
        // As JSONEncoder does at the top.
        // In bounds: the root is frame 0 until the end.
        if frames[0].kind == .empty {
            guard frames[0].depth > 0 else { throw CBORMisuse.nothing.error(path: [], value: value) }
            try activate(root)
            try write(byte: CBORByte.emptyMap)
        }
    }
}
