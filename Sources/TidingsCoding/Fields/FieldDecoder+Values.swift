// What generated code calls.
extension _FieldDecoder {
    /// Reads a field's value.
    ///
    /// - Throws: as ``_FieldCodable/init(_decodingField:)``.
    @inlinable
    public mutating func decode<Value: _FieldCodable>(_ type: Value.Type, for name: StaticString) throws -> Value {
        do { return try Value(_decodingField: &self) } catch {
            throw FieldPath.error(error, at: name, expecting: Value.self)
        }
    }

    /// Reads a field's value, or `nil` for null, as `decodeIfPresent` does.
    ///
    /// - Throws: as ``_FieldCodable/init(_decodingField:)``.
    @inlinable
    public mutating func decode<Value: _FieldCodable>(_ type: Value?.Type, for name: StaticString) throws -> Value? {
        do { return try takeNull() ? nil : Value(_decodingField: &self) } catch {
            throw FieldPath.error(error, at: name, expecting: Value.self)
        }
    }

    /// Reads a field of a type that only `Codable` knows.
    ///
    /// - Throws: as ``_FieldCodable/init(_decodingField:)``.
    @inlinable
    public mutating func decode<Value: Decodable>(_ type: Value.Type, for name: StaticString) throws -> Value {
        do { return try decodeCodable(type) } catch { throw FieldPath.error(error, at: name, expecting: Value.self) }
    }

    /// Reads a field of a type that only `Codable` knows, or `nil` for null.
    ///
    /// - Throws: as ``_FieldCodable/init(_decodingField:)``.
    @inlinable
    public mutating func decode<Value: Decodable>(_ type: Value?.Type, for name: StaticString) throws -> Value? {
        do { return try takeNull() ? nil : decodeCodable(Value.self) } catch {
            throw FieldPath.error(error, at: name, expecting: Value.self)
        }
    }

    /// The value of a field that has to be there.
    ///
    /// - Throws: `DecodingError.keyNotFound` if it was not.
    @inlinable
    public func required<Value>(_ value: Value?, _ name: StaticString) throws -> Value {
        guard let value else { throw Self.missing(name) }
        return value
    }

    // MARK: One item each

    @usableFromInline
    mutating func takeNull() throws -> Bool {
        // Null in one byte, and what surely is something else; anything longer may have tags.
        let head = try cursor.bytes.head(at: cursor.offset)
        if head.major == .tag {
            guard try cursor.bytes.content(at: place).head.isNull else { return false }
            return try another { (_, _) throws(CBORFault) in true }
        }
        guard head.isNull else { return false }
        cursor.offset = head.end
        return true
    }

    @usableFromInline mutating func bool() throws -> Bool { try item { $0.bool } }
    @usableFromInline mutating func double() throws -> Double { try item { $0.double } }
    @usableFromInline mutating func float() throws -> Float { try item { $0.single } }

    /// An item that is nothing but its head. Any other form of the value goes the long way.
    @inline(__always)
    private mutating func item<Value: CBORValue>(_ value: (CBORHead) -> Value?) throws(CBORFault) -> Value {
        let head = try cursor.bytes.head(at: cursor.offset)
        guard let value = value(head) else { return try another() }
        cursor.offset = head.end
        return value
    }

    @usableFromInline
    mutating func string() throws -> String {
        let head = try cursor.bytes.head(at: cursor.offset)
        guard head.major == .text, !head.isIndefinite else { return try another() }
        let end = try cursor.bytes.endOfString(head)
        let text = try cursor.bytes.text(from: head.end, to: end)
        cursor.offset = end
        return text
    }

    /// The next item's bytes, where they lie, if it is a byte string in one piece.
    mutating func byteString() throws(CBORFault) -> UnsafeRawBufferPointer {
        let start = cursor.offset
        let head = try cursor.takeContent().head
        guard head.major == .bytes else { throw .mismatch(head, at: UInt32(truncatingIfNeeded: start)) }
        guard !head.isIndefinite else { throw CBORFault(.chunk, at: start) }
        return cursor.bytes.slice(head.end..<(try cursor.bytes.endOfString(head)))
    }

    @inlinable @inline(__always)
    mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        let start = cursor.offset
        var isNegative = false
        let argument = try plainInteger(&isNegative)
        if isNegative {
            if let number = Number(exactly: ~Int64(bitPattern: argument)) { return number }
            // −1 − n is the complement of n, and n fits 63 bits here.
        } else if let number = Number(exactly: argument) {
            return number
        }
        throw Self.outOfRange(at: start)
    }

    /// An integer's argument: the number itself, or n where the number is −1 − n.
    @usableFromInline
    mutating func plainInteger(_ isNegative: inout Bool) throws -> UInt64 {
        let head = try cursor.bytes.head(at: cursor.offset)
        if head.major == .unsigned {
            cursor.offset = head.end
            return head.argument
        }
        if head.major == .negative && head.argument <= UInt64(Int64.max) {
            isNegative = true
            cursor.offset = head.end
            return head.argument
        }
        return try unusualInteger(&isNegative)
    }

    /// A bignum, a floating-point number that is an integer, something out of range, or something else.
    @inline(never)
    private mutating func unusualInteger(_ isNegative: inout Bool) throws -> UInt64 {
        let start = cursor.offset
        let number: Int128 = try another()
        if let argument = UInt64(exactly: number) { return argument }
        guard let small = Int64(exactly: number) else { throw Self.outOfRange(at: start) }
        isNegative = true
        return UInt64(bitPattern: ~small)
    }

    // MARK: Errors

    @usableFromInline @inline(never)
    static func outOfRange(at offset: Int) -> any Error { CBORFault(.integerRange, at: offset) }

    @usableFromInline @inline(never)
    static func missing(_ name: StaticString) -> any Error {
        DecodingError.keyNotFound(
            CBORKey(stringValue: "\(name)"),
            DecodingError.Context(codingPath: [], debugDescription: "the map has no key \"\(name)\""))
    }
}
