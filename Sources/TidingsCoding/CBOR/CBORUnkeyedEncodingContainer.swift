/// Writes the elements of an array.
struct CBORUnkeyedEncodingContainer: UnkeyedEncodingContainer {
    let writer: CBORWriter
    let frame: CBORFrameID

    var codingPath: [any CodingKey] { writer.path(to: frame) }

    /// 0 once the container is out of use.
    var count: Int {
        if frame == writer.current { return writer.currentCount }
        guard let number = writer.number(of: frame) else { return 0 }
        return writer.frames[number].count
        // In bounds: `number(of:)` compares with the number of frames.
    }

    @inline(__always)
    private func element(_ write: (CBORWriter) throws -> Void) throws {
        try writer.activate(frame)
        try writer.countEntry(.array)
        try write(writer)
    }

    func encodeNil() throws { try element { try $0.write(byte: CBORByte.null) } }
    func encode(_ value: Bool) throws { try element { try $0.write(value) } }
    func encode(_ value: String) throws { try element { try $0.write(value) } }
    func encode(_ value: Double) throws { try element { try $0.write(value) } }
    func encode(_ value: Float) throws { try element { try $0.write(value) } }
    func encode(_ value: Int) throws { try element { try $0.write(signed: value) } }
    func encode(_ value: Int8) throws { try element { try $0.write(signed: value) } }
    func encode(_ value: Int16) throws { try element { try $0.write(signed: value) } }
    func encode(_ value: Int32) throws { try element { try $0.write(signed: value) } }
    func encode(_ value: Int64) throws { try element { try $0.write(signed: value) } }
    func encode(_ value: Int128) throws { try element { try $0.write(value) } }
    func encode(_ value: UInt) throws { try element { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt8) throws { try element { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt16) throws { try element { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt32) throws { try element { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt64) throws { try element { try $0.write(.unsigned, value) } }
    func encode(_ value: UInt128) throws { try element { try $0.write(value) } }

    /// Counts the element last: a value that throws leaves no trace.
    func encode<T: Encodable>(_ value: T) throws {
        try writer.activate(frame)
        try writer.write(value, keyLength: 0, index: writer.currentCount)
        try writer.countEntry(.array)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(CBORKeyedEncodingContainer<NestedKey>(writer: writer, frame: add(.map)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        CBORUnkeyedEncodingContainer(writer: writer, frame: add(.array))
    }

    func superEncoder() -> any Encoder { CBOREncoder(writer: writer, frame: add(.reserved)) }

    /// An element that comes later. Fails like `CBORWriter.become`.
    private func add(_ kind: CBORFrame.Kind) -> CBORFrameID {
        guard writer.number(of: frame) != nil else { return .none }
        do {
            try writer.activate(frame)
            let index = writer.currentCount
            try writer.countEntry(.array)
            return try writer.addEntry(kind, keyLength: 0, index: index)
        } catch {
            writer.fail(error)
            return .none
        }
    }
}
