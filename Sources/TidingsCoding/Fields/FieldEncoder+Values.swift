// What generated code calls. Small and inlinable, so that a struct's coder becomes straight code in the struct's
// module.
extension FieldEncoder {
    /// Writes a field: its name, and the value.
    ///
    /// - Throws: as ``FieldCodable/encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: FieldCodable>(
        _ value: Value, for name: StaticString
    ) throws {
        try writeName(name)
        do { try value.encodeField(to: &self) } catch { throw FieldPath.error(error, in: name) }
    }

    /// Writes a field unless it is `nil`, as `encodeIfPresent` does.
    ///
    /// - Throws: as ``FieldCodable/encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: FieldCodable>(
        _ value: Value?, for name: StaticString
    ) throws {
        if let value { try encode(value, for: name) }
    }

    /// Writes a field of a type that only `Codable` knows.
    ///
    /// - Throws: as ``FieldCodable/encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: Encodable>(_ value: Value, for name: StaticString) throws {
        try writeName(name)
        do { try encodeCodable(value) } catch { throw FieldPath.error(error, in: name) }
    }

    /// Writes a field of a type that only `Codable` knows, unless it is `nil`.
    ///
    /// - Throws: as ``FieldCodable/encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: Encodable>(_ value: Value?, for name: StaticString) throws {
        if let value { try encode(value, for: name) }
    }

    @inlinable @inline(__always)
    mutating func writeName(_ name: StaticString) throws {
        pairs &+= 1
        let count = name.utf8CodeUnitCount
        guard count < 24 else { return try writeText(UnsafeRawBufferPointer(start: name.utf8Start, count: count)) }
        let place = try room(count &+ 1)
        place.storeBytes(of: 0x60 | UInt8(truncatingIfNeeded: count), as: UInt8.self)
        (place + 1).copyMemory(from: name.utf8Start, byteCount: count)
        // In bounds: 1 + count bytes of room. A string literal is a pointer, also that of a lone character.
    }

    @usableFromInline
    mutating func writeText(_ text: UnsafeRawBufferPointer) throws { try write(.text, bytes: text) }

    @usableFromInline
    mutating func writeText(_ text: String) throws { try write(text) }
}
