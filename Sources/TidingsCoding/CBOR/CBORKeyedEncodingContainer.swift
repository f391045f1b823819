/// Writes the pairs of a map. Keys are text always, whatever their `intValue`.
struct CBORKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: CBORWriter
    let frame: CBORFrameID

    var codingPath: [any CodingKey] { writer.path(to: frame) }

    /// Writes the pair's key, counts it, and leaves the cursor where the value goes.
    @inline(__always)
    private func entry(_ key: Key, _ write: (CBORWriter) throws -> Void) throws {
        try writer.activate(frame)
        let start = writer.cursor
        try writer.write(key.stringValue)
        if try writer.noteKey(from: start, to: writer.cursor) { try writer.countEntry(.map) }
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
        let length = writer.cursor - start
        guard writer.markKey(from: start, to: writer.cursor) else {
            return try writer.writeAgain(value, keyFrom: start, length: length, intKey: key.intValue)
        }
        if try !writer.writeKnown(value) {
            try writer.writeOther(value, keyLength: length, index: -1, intKey: key.intValue)
        }
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
    ///
    /// As in Foundation: a second container of the same kind for one key is the first container, and a `superEncoder`
    /// replaces the value.
    func addPair(_ kind: CBORFrame.Kind, _ key: some CodingKey, to map: CBORFrameID) -> CBORFrameID {
        guard number(of: map) != nil else { return .none }
        do {
            try activate(map)
            let start = cursor
            try write(key.stringValue)
            let keyLength = cursor - start
            if !markKey(from: start, to: cursor), !isNewInLargeMap(from: start, to: cursor) {
                if kind != .reserved, let old = try reopen(kind, keyFrom: start) { return old }
                if try noteAgain(from: start, to: cursor) { try countEntry(.map) }
            } else {
                try countEntry(.map)
            }
            return try addEntry(kind, keyLength: keyLength, index: -1, intKey: key.intValue)
        } catch {
            fail(error)
            return .none
        }
    }
}
