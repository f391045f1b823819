/// Writes the elements of an array.
struct CBORUnkeyedEncodingContainer: UnkeyedEncodingContainer {
    let writer: CBORWriter.Handle
    let frame: CBORFrameID

    var codingPath: [any CodingKey] { writer.pointee.path(to: frame) }

    /// 0 once the container is out of use.
    var count: Int {
        if frame == writer.pointee.current.id { return writer.pointee.current.count }
        return writer.pointee.number(of: frame).map { writer.pointee.frames[$0].count } ?? 0
    }

    @inline(__always)
    private func begin() throws {
        try writer.pointee.activate(frame)
        try writer.pointee.countEntry(.array)
    }

    func encodeNil() throws {
        try begin()
        try writer.pointee.write(byte: CBORByte.null)
    }

    @inline(__always)
    func encode<Value: CBORValue>(_ value: Value) throws {
        try begin()
        try value.write(to: &writer.pointee)
    }
    func encode(_ value: Int128) throws { try encode(wide: value) }
    func encode(_ value: UInt128) throws { try encode(wide: value) }
    private func encode<Value: CBORValue>(wide value: Value) throws { try encode(value) }

    /// Counts the element last: a value that throws leaves no trace.
    func encode<T: Encodable>(_ value: T) throws {
        try writer.pointee.activate(frame)
        try writer.write(value, CBORFrame.Spot(index: writer.pointee.current.count))
        try writer.pointee.countEntry(.array)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(CBORKeyedEncodingContainer<NestedKey>(writer: writer, frame: add(.map)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        CBORUnkeyedEncodingContainer(writer: writer, frame: add(.array))
    }

    func superEncoder() -> any Encoder { CBOREncoder(writer: writer, frame: add(.reserved)) }

    /// An element that comes later. Fails as `CBORWriter.become` does.
    private func add(_ kind: CBORFrame.Kind) -> CBORFrameID {
        writer.pointee.orFail(frame) { writer, _ in
            try writer.activate(frame)
            let index = writer.current.count
            try writer.countEntry(.array)
            return try writer.addEntry(kind, CBORFrame.Spot(index: index))
        }
    }
}
