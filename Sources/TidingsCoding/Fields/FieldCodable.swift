/// A value that has a place in a payload without `Codable` being asked. Public for the code that `@Message` generates.
///
/// `@Message` generates the conformance for a struct. The struct's fields are numbers, texts, truth values, and
/// optionals, arrays and dictionaries of these. The bytes are the ones that the library's `Encoder` writes, so poster
/// and observer may be built with the macro or without it. To conform to this protocol by hand gains nothing.
public protocol _FieldCodable: Codable {
    /// Writes the value as one CBOR item. For generated code.
    ///
    /// - Throws: what the poster is told as `.encodingFailed`, or of missing room for the payload: `.payloadTooLarge`,
    ///   `.noSpace`, `.full`.
    func _encodeField(to encoder: inout _FieldEncoder) throws
    /// Reads one CBOR item. For generated code.
    ///
    /// - Throws: what the observer's `onUndecodable` is told, as a `DecodingError`.
    init(_decodingField decoder: inout _FieldDecoder) throws
}

extension Bool: _FieldCodable {
    @inlinable public func _encodeField(to encoder: inout _FieldEncoder) throws { try encoder.write(self) }
    @inlinable public init(_decodingField decoder: inout _FieldDecoder) throws { self = try decoder.bool() }
}

extension String: _FieldCodable {
    @inlinable public func _encodeField(to encoder: inout _FieldEncoder) throws { try encoder.writeText(self) }
    @inlinable public init(_decodingField decoder: inout _FieldDecoder) throws { self = try decoder.string() }
}

extension Double: _FieldCodable {
    @inlinable public func _encodeField(to encoder: inout _FieldEncoder) throws { try encoder.write(self) }
    @inlinable public init(_decodingField decoder: inout _FieldDecoder) throws { self = try decoder.double() }
}

extension Float: _FieldCodable {
    @inlinable public func _encodeField(to encoder: inout _FieldEncoder) throws { try encoder.write(self) }
    @inlinable public init(_decodingField decoder: inout _FieldDecoder) throws { self = try decoder.float() }
}

/// An integer of at most 64 bits. An internal protocol: an integer type of another module may be wider.
@usableFromInline
protocol IntegerField: _FieldCodable, FixedWidthInteger {}

extension IntegerField {
    @inlinable public func _encodeField(to encoder: inout _FieldEncoder) throws { try encoder.write(integer: self) }
    @inlinable public init(_decodingField decoder: inout _FieldDecoder) throws { self = try decoder.integer(Self.self) }
}

extension Int: _FieldCodable, IntegerField {}
extension Int64: _FieldCodable, IntegerField {}
extension Int32: _FieldCodable, IntegerField {}
extension Int16: _FieldCodable, IntegerField {}
extension Int8: _FieldCodable, IntegerField {}
extension UInt: _FieldCodable, IntegerField {}
extension UInt64: _FieldCodable, IntegerField {}
extension UInt32: _FieldCodable, IntegerField {}
extension UInt16: _FieldCodable, IntegerField {}
extension UInt8: _FieldCodable, IntegerField {}

/// Within arrays and dictionaries: null. A field of a struct that is `nil` isn't written at all.
extension Optional: _FieldCodable where Wrapped: _FieldCodable {
    @inlinable
    public func _encodeField(to encoder: inout _FieldEncoder) throws {
        if let self { try self._encodeField(to: &encoder) } else { try encoder.write(byte: CBORByte.null) }
    }

    @inlinable
    public init(_decodingField decoder: inout _FieldDecoder) throws {
        self = try decoder.takeNull() ? nil : Wrapped(_decodingField: &decoder)
    }
}

extension Array: _FieldCodable where Element: _FieldCodable {
    @inlinable
    public func _encodeField(to encoder: inout _FieldEncoder) throws {
        try encoder.beginArray(count)
        var index = 0
        for element in self {
            do { try element._encodeField(to: &encoder) } catch { throw FieldPath.error(error, at: index) }
            index &+= 1
        }
        encoder.endArray()
    }

    @inlinable
    public init(_decodingField decoder: inout _FieldDecoder) throws {
        var array = try decoder.beginArray()
        self.init()
        reserveCapacity(array.likelyCount)
        while try decoder.nextElement(in: &array) {
            do { append(try Element(_decodingField: &decoder)) } catch {
                throw FieldPath.error(error, at: count, expecting: Element.self)
            }
        }
    }
}

extension Dictionary: _FieldCodable where Key == String, Value: _FieldCodable {
    @inlinable
    public func _encodeField(to encoder: inout _FieldEncoder) throws {
        let map = try encoder.beginMap()
        for (key, value) in self {
            encoder.pairs &+= 1
            try encoder.writeText(key)
            do { try value._encodeField(to: &encoder) } catch { throw FieldPath.error(error, at: key) }
        }
        try encoder.endMap(map)
    }

    @inlinable
    public init(_decodingField decoder: inout _FieldDecoder) throws {
        var map = try decoder.beginMap()
        self.init()
        while let key = try decoder.nextKey(in: &map) {
            // Of equal keys the first counts.
            guard self[key] == nil else {
                try decoder.skipValue()
                continue
            }
            do { updateValue(try Value(_decodingField: &decoder), forKey: key) } catch {
                throw FieldPath.error(error, at: key, expecting: Value.self)
            }
        }
    }
}
