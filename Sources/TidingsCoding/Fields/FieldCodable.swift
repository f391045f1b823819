/// A value that has a place in a payload without `Codable` being asked. Public for the code that `@Message` generates.
///
/// `@Message` generates the conformance for a struct. The struct's fields are numbers, texts, truth values, and
/// optionals, arrays and dictionaries of these. The bytes are the ones that the library's `Encoder` writes, so poster
/// and observer may be built with the macro or without it. To conform to this protocol by hand gains nothing.
public protocol FieldCodable: Codable {
    /// Writes the value as one CBOR item. For generated code.
    ///
    /// - Throws: what the poster is told as `.encodingFailed`, or of missing room for the payload: `.payloadTooLarge`,
    ///   `.noSpace`, `.full`.
    func encodeField(to encoder: inout FieldEncoder) throws
    /// Reads one CBOR item. For generated code.
    ///
    /// - Throws: what the observer's `onUndecodable` is told, as a `DecodingError`.
    init(decodingField decoder: inout FieldDecoder) throws
}

extension Bool: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws { self = try decoder.bool() }
}

extension String: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.writeText(self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws { self = try decoder.string() }
}

extension Double: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws { self = try decoder.double() }
}

extension Float: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws { self = try decoder.float() }
}

/// An integer of at most 64 bits. An internal protocol: an integer type of another module may be wider.
@usableFromInline
protocol IntegerField: FieldCodable, FixedWidthInteger {}

extension IntegerField {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.write(integer: self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws { self = try decoder.integer(Self.self) }
}

extension Int: FieldCodable, IntegerField {}
extension Int64: FieldCodable, IntegerField {}
extension Int32: FieldCodable, IntegerField {}
extension Int16: FieldCodable, IntegerField {}
extension Int8: FieldCodable, IntegerField {}
extension UInt: FieldCodable, IntegerField {}
extension UInt64: FieldCodable, IntegerField {}
extension UInt32: FieldCodable, IntegerField {}
extension UInt16: FieldCodable, IntegerField {}
extension UInt8: FieldCodable, IntegerField {}

/// Within arrays and dictionaries: null. A field of a struct that is `nil` isn't written at all.
extension Optional: FieldCodable where Wrapped: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        if let self { try self.encodeField(to: &encoder) } else { try encoder.write(byte: CBORByte.null) }
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.takeNull() ? nil : Wrapped(decodingField: &decoder)
    }
}

extension Array: FieldCodable where Element: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        try encoder.beginArray(count)
        var index = 0
        for element in self {
            do {
                try element.encodeField(to: &encoder)
            } catch {
                throw FieldPath.error(error, at: index)
            }
            index &+= 1
        }
        encoder.endArray()
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        var array = try decoder.beginArray()
        self.init()
        reserveCapacity(array.likelyCount)
        while try decoder.nextElement(in: &array) {
            do {
                append(try Element(decodingField: &decoder))
            } catch {
                throw FieldPath.error(error, at: count, expecting: Element.self)
            }
        }
    }
}

extension Dictionary: FieldCodable
where Key == String, Value: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        let map = try encoder.beginMap()
        for (key, value) in self {
            encoder.pairs &+= 1
            try encoder.writeText(key)
            do {
                try value.encodeField(to: &encoder)
            } catch {
                throw FieldPath.error(error, in: key)
            }
        }
        try encoder.endMap(map)
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        var map = try decoder.beginMap()
        self.init()
        while let key = try decoder.nextKey(in: &map) {
            // Of equal keys the first counts.
            guard self[key] == nil else {
                try decoder.skipValue()
                continue
            }
            do {
                updateValue(try Value(decodingField: &decoder), forKey: key)
            } catch {
                throw FieldPath.error(error, in: key, expecting: Value.self)
            }
        }
    }
}
