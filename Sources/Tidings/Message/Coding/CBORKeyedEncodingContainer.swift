/// Writes the pairs of a map. Keys are text always, whatever their `intValue`.
struct CBORKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: CBORWriter
    let frame: CBORFrameID

    var codingPath: [any CodingKey] { writer.path(to: frame) }

    /// Counts the pair, writes its key, and leaves the cursor where the value goes.
    @inline(__always)
    private func entry(_ key: Key, _ write: (CBORWriter) throws -> Void) throws {
        try writer.activate(frame)
        try writer.countEntry(.map)
        try writer.write(key.stringValue)
        try write(writer)
    }

    func encodeNil(forKey key: Key) throws { try entry(key) { try $0.write(byte: CBORByte.null) } }
    func encode(_ value: Bool, forKey key: Key) throws { try entry(key) { try $0.write(value) } }
    func encode(_ value: String, forKey key: Key) throws { try entry(key) { try $0.write(value) } }
    func encode(_ value: Double, forKey key: Key) throws { try entry(key) { try $0.write(value) } }
    func encode(_ value: Float, forKey key: Key) throws { try entry(key) { try $0.write(value) } }
    func encode(_ value: Int, forKey key: Key) throws { try entry(key) { try $0.write(signed: value) } }
    func encode(_ value: Int8, forKey key: Key) throws { try entry(key) { try $0.write(signed: value) } }
    func encode(_ value: Int16, forKey key: Key) throws { try entry(key) { try $0.write(signed: value) } }
    func encode(_ value: Int32, forKey key: Key) throws { try entry(key) { try $0.write(signed: value) } }
    func encode(_ value: Int64, forKey key: Key) throws { try entry(key) { try $0.write(signed: value) } }
    func encode(_ value: Int128, forKey key: Key) throws { try entry(key) { try $0.write(value) } }
    func encode(_ value: UInt, forKey key: Key) throws { try entry(key) { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt8, forKey key: Key) throws { try entry(key) { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt16, forKey key: Key) throws { try entry(key) { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt32, forKey key: Key) throws { try entry(key) { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt64, forKey key: Key) throws { try entry(key) { try $0.write(.unsigned, value) } }
    func encode(_ value: UInt128, forKey key: Key) throws { try entry(key) { try $0.write(value) } }

    /// Counts the pair last: a value that throws leaves no trace.
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try writer.activate(frame)
        let start = writer.cursor
        try writer.write(key.stringValue)
        try writer.write(value, keyLength: writer.cursor - start, index: -1)
        try writer.countEntry(.map)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        let map = writer.addPair(.map, key, to: frame)
        return KeyedEncodingContainer(CBORKeyedEncodingContainer<NestedKey>(writer: writer, frame: map))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        CBORUnkeyedEncodingContainer(writer: writer, frame: writer.addPair(.array, key, to: frame))
    }

    func superEncoder() -> any Encoder {
        CBOREncoder(writer: writer, frame: writer.addPair(.reserved, CBORKey.super, to: frame))
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        CBOREncoder(writer: writer, frame: writer.addPair(.reserved, key, to: frame))
    }
}

extension CBORWriter {
    /// A pair whose value comes later. Fails like `become`.
    func addPair(_ kind: CBORFrame.Kind, _ key: some CodingKey, to map: CBORFrameID) -> CBORFrameID {
        do {
            try activate(map)
            try countEntry(.map)
            let start = cursor
            try write(key.stringValue)
            return try addEntry(kind, keyLength: cursor - start, index: -1)
        } catch {
            fail(error)
            return .none
        }
    }
}
