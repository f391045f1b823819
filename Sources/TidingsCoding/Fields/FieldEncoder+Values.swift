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
        do { try value.encodeField(to: &self) } catch { throw Self.error(error, in: name) }
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
        do { try encodeCodable(value) } catch { throw Self.error(error, in: name) }
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

    /// A head in shortest form; `major` is the first byte of an item of its type with nothing in the lower five bits.
    @inlinable @inline(__always)
    mutating func writeHead(_ major: UInt8, _ argument: UInt64) throws {
        if argument < 24 {
            try room(1).storeBytes(of: major | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
        } else {
            try writeLongHead(major, argument)
        }
    }

    @usableFromInline
    mutating func writeLongHead(_ major: UInt8, _ argument: UInt64) throws {
        let place = try room(CBORHead.size(argument))
        CBORWriter.putHead(unsafeBitCast(major >> 5, to: CBORMajor.self), argument, at: place)
        // Three bits, as in `PayloadBytes.head`.
    }

    @inlinable @inline(__always)
    mutating func write(signed value: Int64) throws {
        // A negative n travels as −1 − n, which is its complement and never overflows.
        if value >= 0 {
            try writeHead(0x00, UInt64(bitPattern: value))
        } else {
            try writeHead(0x20, UInt64(bitPattern: ~value))
        }
    }

    @inlinable @inline(__always)
    mutating func write(byte: UInt8) throws { try room(1).storeBytes(of: byte, as: UInt8.self) }

    @inlinable @inline(__always)
    mutating func write(_ value: Double) throws {
        let place = try room(9)
        place.storeBytes(of: 0xFB, as: UInt8.self)
        place.storeBytes(of: value.bitPattern.bigEndian, toByteOffset: 1, as: UInt64.self)
        // In bounds: 1 + 8 bytes of room.
    }

    @inlinable @inline(__always)
    mutating func write(_ value: Float) throws {
        let place = try room(5)
        place.storeBytes(of: 0xFA, as: UInt8.self)
        place.storeBytes(of: value.bitPattern.bigEndian, toByteOffset: 1, as: UInt32.self)
        // In bounds: 1 + 4 bytes of room.
    }

    @usableFromInline
    mutating func write(_ value: String) throws {
        let done: Void? = try value.utf8.withContiguousStorageIfAvailable {
            try writeText(UnsafeRawBufferPointer($0))
        }
        // A string of Swift's own is contiguous; another one is copied.
        if done == nil { try Array(value.utf8).withUnsafeBytes { try writeText($0) } }
    }

    @usableFromInline
    mutating func writeText(_ text: UnsafeRawBufferPointer) throws { try write(.text, bytes: text) }

    @inline(__always)
    mutating func write(_ major: CBORMajor, bytes: UnsafeRawBufferPointer) throws {
        let argument = UInt64(truncatingIfNeeded: bytes.count)
        let head = CBORHead.size(argument)
        let place = try room(head + bytes.count)
        CBORWriter.putHead(major, argument, at: place)
        if let source = bytes.baseAddress { (place + head).copyMemory(from: source, byteCount: bytes.count) }
        // In bounds: head + count bytes of room; a string in memory is far below the size where that overflows.
    }

    // MARK: Errors

    /// With the name in front of its path, if it has one.
    @usableFromInline @inline(never)
    static func error(_ error: any Error, in name: StaticString) -> any Error {
        FieldPath.error(error, in: CBORKey(stringValue: "\(name)"), expecting: nil)
    }

    @usableFromInline @inline(never)
    static func error(_ error: any Error, at index: Int) -> any Error {
        FieldPath.error(error, in: CBORKey(intValue: index), expecting: nil)
    }

    @usableFromInline @inline(never)
    static func error(_ error: any Error, in key: String) -> any Error {
        FieldPath.error(error, in: CBORKey(stringValue: key), expecting: nil)
    }
}
