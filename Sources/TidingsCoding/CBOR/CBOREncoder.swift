/// The `Encoder` that a value sees: a place to fill, which becomes a map, an array or a single value as the value asks.
struct CBOREncoder: Encoder, SingleValueEncodingContainer {
    let writer: CBORWriter.Handle
    let frame: CBORFrameID

    var codingPath: [any CodingKey] { writer.pointee.path(to: frame) }
    var userInfo: [CodingUserInfoKey: Any] {
        writer.pointee.number(of: frame) == nil ? [:] : writer.pointee.userInfo
    }

    /// Asked for twice, as a subclass and its superclass may do, it is the same map.
    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        let map = writer.pointee.become(.map, frame)
        return KeyedEncodingContainer(CBORKeyedEncodingContainer<Key>(writer: writer, frame: map))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        CBORUnkeyedEncodingContainer(writer: writer, frame: writer.pointee.become(.array, frame))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    // MARK: A single value

    /// Claims the place for one value.
    private func claim() throws {
        try writer.pointee.claim(frame)
        writer.pointee.frames[Int(frame.number)].kind = .single
        // `claim` found the frame.
    }

    func encodeNil() throws {
        try claim()
        try writer.pointee.write(byte: CBORByte.null)
    }

    @inline(__always)
    func encode<Value: CBORValue>(_ value: Value) throws {
        try claim()
        try value.write(to: &writer.pointee)
    }
    func encode(_ value: Int128) throws { try encode(wide: value) }
    func encode(_ value: UInt128) throws { try encode(wide: value) }
    private func encode<Value: CBORValue>(wide value: Value) throws { try encode(value) }

    /// A value that throws leaves the place as empty as it was.
    func encode<T: Encodable>(_ value: T) throws {
        let before = writer.pointee.number(of: frame).map { writer.pointee.frames[$0].kind }
        do {
            try claim()
            try writer.write(value, CBORFrame.Spot())
        } catch {
            if let before, before == .empty || before == .reserved { try writer.pointee.vacate(frame, before) }
            throw error
        }
    }
}

extension CBORWriter.Handle {
    /// Encodes any value at the cursor of the current frame. If the value throws, nothing is left of it or of its key.
    @inline(__always)
    func write<T: Encodable>(_ value: T, _ spot: @autoclosure () -> CBORFrame.Spot) throws {
        if let form = CBORForm.of(T.self) { return try form.write(value, to: &pointee) }
        try writeOther(value, spot())
    }

    @inline(never)
    private func writeOther<T: Encodable>(_ value: T, _ spot: CBORFrame.Spot) throws {
        let (parent, entries) = (pointee.current.id, pointee.current.count)
        let child = pointee.push(spot)
        // `child` exists until it is popped: only its makers pop it.
        do {
            try encode(value, in: child)
            pointee.pop(child, to: parent)
        } catch {
            let start = pointee.frames[Int(child.number)].key.lowerBound
            pointee.pop(child, to: parent)
            // What the value may have put into its surroundings by the back door goes with it only if no header says
            // otherwise.
            if pointee.current.count == entries { pointee.takeBack(to: start) } else { pointee.fail(error) }
            throw error
        }
    }

    /// As in JSONEncoder, a value that encodes nothing is an empty map within a container, and an error at the top.
    func encode<T: Encodable>(_ value: T, in frame: CBORFrameID, mayBeEmpty: Bool = true) throws {
        try value.encode(to: CBOREncoder(writer: self, frame: frame))
        guard pointee.frames[Int(frame.number)].kind == .empty else { return }
        guard mayBeEmpty else { throw CBORMisuse.nothing.error(path: [], value: value) }
        try pointee.activate(frame)
        try pointee.write(byte: CBORFrame.Kind.map.emptyItem)
    }
}
