/// The `Encoder` a value sees: the place it is to fill, which becomes a map, an array or a single value as it asks.
struct CBOREncoder: Encoder {
    let writer: CBORWriter
    let frame: CBORFrameID

    var codingPath: [any CodingKey] { writer.path(to: frame) }
    var userInfo: [CodingUserInfoKey: Any] { writer.number(of: frame) == nil ? [:] : writer.userInfo }

    /// Asked for twice, as a subclass and its superclass may do, it is the same map.
    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        let map = writer.become(.map, frame)
        return KeyedEncodingContainer(CBORKeyedEncodingContainer<Key>(writer: writer, frame: map))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        CBORUnkeyedEncodingContainer(writer: writer, frame: writer.become(.array, frame))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension CBORWriter {
    /// Turns a place into a container, and returns it; on failure the whole encoding fails, for nothing can be thrown
    /// here, and every use of the returned frame does. If the place belongs to an encoding that is over, only that use
    /// fails.
    func become(_ kind: CBORFrame.Kind, _ id: CBORFrameID) -> CBORFrameID {
        guard let number = number(of: id) else { return .none }
        do {
            if frames[number].kind == kind { return id }
            guard frames[number].kind == .empty || frames[number].kind == .reserved else {
                throw CBORMisuse.twice.error(path: path(to: id))
            }
            guard frames[number].depth < CBORLimit.depth else { throw CBORMisuse.tooDeep.error(path: path(to: id)) }
            try claim(id)
            try write(byte: kind == .map ? CBORByte.emptyMap : CBORByte.emptyArray)
            frames[number].kind = kind
            frames[number].depth += 1
            return id
        } catch {
            fail(error)
            return .none
        }
    }

    /// Goes to a place that has no value yet, and frees it of what stands in for one.
    func claim(_ id: CBORFrameID) throws {
        try activate(id)
        switch frames[Int(id.number)].kind {
        // In bounds: `activate` throws unless the frame exists.
        case .empty: return
        case .reserved:
            takeBack(to: currentStart)
            frames[Int(id.number)].kind = .empty
        case .single, .map, .array: throw CBORMisuse.twice.error(path: path(to: id))
        }
    }

    /// Undoes `claim`, for a value of which nothing is left.
    func vacate(_ id: CBORFrameID, _ isReserved: Bool) throws {
        try activate(id)
        if isReserved { try write(byte: CBORByte.emptyMap) }
        frames[Int(id.number)].kind = isReserved ? .reserved : .empty
        // In bounds: `activate` throws unless the frame exists.
    }

    /// Writes the key of a nested container and its header, or of a place for later.
    func addEntry(_ kind: CBORFrame.Kind, keyLength: Int, index: Int, intKey: Int? = nil) throws -> CBORFrameID {
        let isContainer = kind == .map || kind == .array
        let depth = frames[Int(current.number)].depth + (isContainer ? 1 : 0)
        // In bounds: the callers activated the current frame.
        let start = cursor
        try write(byte: kind == .array ? CBORByte.emptyArray : CBORByte.emptyMap)
        let id = add(kind, start: start, keyLength: keyLength, index: index, intKey: intKey, depth: depth)
        frames[Int(id.number)].end = cursor
        guard depth <= CBORLimit.depth else { throw CBORMisuse.tooDeep.error(path: path(to: id)) }
        return id
    }
}

extension CBOREncoder: SingleValueEncodingContainer {
    /// Writes one value and marks the place as filled.
    @inline(__always)
    private func single(_ write: (CBORWriter) throws -> Void) throws {
        try writer.claim(frame)
        writer.frames[Int(frame.number)].kind = .single
        // In bounds: `claim` found the frame.
        try write(writer)
    }

    func encodeNil() throws { try single { try $0.write(byte: CBORByte.null) } }
    func encode(_ value: Bool) throws { try single { try $0.write(value) } }
    func encode(_ value: String) throws { try single { try $0.write(value) } }
    func encode(_ value: Double) throws { try single { try $0.write(value) } }
    func encode(_ value: Float) throws { try single { try $0.write(value) } }
    func encode(_ value: Int) throws { try single { try $0.write(signed: value) } }
    func encode(_ value: Int8) throws { try single { try $0.write(signed: value) } }
    func encode(_ value: Int16) throws { try single { try $0.write(signed: value) } }
    func encode(_ value: Int32) throws { try single { try $0.write(signed: value) } }
    func encode(_ value: Int64) throws { try single { try $0.write(signed: value) } }
    func encode(_ value: Int128) throws { try single { try $0.write(value) } }
    func encode(_ value: UInt) throws { try single { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt8) throws { try single { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt16) throws { try single { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt32) throws { try single { try $0.write(.unsigned, UInt64(value)) } }
    func encode(_ value: UInt64) throws { try single { try $0.write(.unsigned, value) } }
    func encode(_ value: UInt128) throws { try single { try $0.write(value) } }

    /// A value that throws leaves the place as empty as it was.
    func encode<T: Encodable>(_ value: T) throws {
        let before = writer.number(of: frame).map { writer.frames[$0].kind }
        // In bounds: `number(of:)` compares with the number of frames.
        do {
            try single { try $0.write(value, keyLength: 0, index: -1) }
        } catch {
            if before == .empty || before == .reserved { try writer.vacate(frame, before == .reserved) }
            throw error
        }
    }
}
