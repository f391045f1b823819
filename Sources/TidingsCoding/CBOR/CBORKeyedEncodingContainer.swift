/// Writes the pairs of a map. Keys are text always, whatever their `intValue`.
struct CBORKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: CBORWriter.Handle
    let frame: CBORFrameID

    var codingPath: [any CodingKey] { writer.pointee.path(to: frame) }

    func encodeNil(forKey key: Key) throws {
        try writer.pointee.beginPair(key.stringValue, in: frame)
        try writer.pointee.write(byte: CBORByte.null)
    }

    @inline(__always)
    func encode<Value: CBORValue>(_ value: Value, forKey key: Key) throws {
        try writer.pointee.beginPair(key.stringValue, in: frame)
        try value.write(to: &writer.pointee)
    }
    func encode(_ value: Int128, forKey key: Key) throws { try encode(wide: value, key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try encode(wide: value, key) }
    private func encode<Value: CBORValue>(wide value: Value, _ key: Key) throws { try encode(value, forKey: key) }

    /// Counts the pair last: a value that throws leaves no trace.
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let (start, end) = try writer.pointee.writeKey(key.stringValue, in: frame)
        guard writer.pointee.markKey(from: start, to: end) else {
            return try writeAgain(value, key, from: start, to: end)
        }
        try writer.write(value, CBORFrame.Spot(keyLength: end - start, intKey: key.intValue))
        try writer.pointee.countEntry(.map)
    }

    /// For a key that the map may have: the old value goes when the new value is complete.
    @inline(never)
    private func writeAgain<T: Encodable>(_ value: T, _ key: Key, from start: Int, to end: Int) throws {
        // The value may write to this map by the back door, and so move its own key. A frame there moves with it.
        let mark = Int(writer.pointee.add(.single, start: start, CBORFrame.Spot(), depth: 0).number)
        defer { writer.pointee.frames.count = mark }
        // What the value adds comes behind this frame, and is dropped down to it.
        try writer.write(value, CBORFrame.Spot(keyLength: end - start, intKey: key.intValue))
        let moved = writer.pointee.frames[mark].start
        if try writer.pointee.noteAgain(from: moved, to: moved + (end - start)) {
            try writer.pointee.countEntry(.map)
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(CBORKeyedEncodingContainer<NestedKey>(writer: writer, frame: add(.map, key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        CBORUnkeyedEncodingContainer(writer: writer, frame: add(.array, key))
    }

    func superEncoder() -> any Encoder { CBOREncoder(writer: writer, frame: add(.reserved, CBORKey.super)) }
    func superEncoder(forKey key: Key) -> any Encoder { CBOREncoder(writer: writer, frame: add(.reserved, key)) }

    /// A pair whose value comes later. Fails as `CBORWriter.become` does.
    private func add(_ kind: CBORFrame.Kind, _ key: some CodingKey) -> CBORFrameID {
        let (name, intKey) = (key.stringValue, key.intValue)
        return writer.pointee.orFail(frame) { writer, _ in try writer.addPair(kind, name, intKey, to: frame) }
    }
}

extension CBORWriter {
    /// Writes a pair's key, counts the pair, and leaves the cursor where the value goes.
    @inline(__always)
    mutating func beginPair(_ name: String, in map: CBORFrameID) throws {
        let (start, end) = try writeKey(name, in: map)
        if try markKey(from: start, to: end) || noteAgain(from: start, to: end) { try countEntry(.map) }
    }

    /// Writes a key into a map. Returns where it is.
    @inline(__always)
    mutating func writeKey(_ name: String, in map: CBORFrameID) throws -> (start: Int, end: Int) {
        try activate(map)
        let start = cursor
        try write(name)
        return (start, cursor)
    }

    /// As in Foundation: a second container of the same kind for one key is the first container, and a `superEncoder`
    /// replaces the value.
    mutating func addPair(
        _ kind: CBORFrame.Kind, _ name: String, _ intKey: Int?, to map: CBORFrameID
    ) throws -> CBORFrameID {
        let (start, end) = try writeKey(name, in: map)
        if !markKey(from: start, to: end), !isNewInLargeMap(from: start, to: end) {
            if kind != .reserved, let old = try reopen(kind, keyFrom: start) { return old }
            if try noteAgain(from: start, to: end) { try countEntry(.map) }
        } else {
            try countEntry(.map)
        }
        return try addEntry(kind, CBORFrame.Spot(keyLength: end - start, intKey: intKey))
    }
}
