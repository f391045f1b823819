extension Bool: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        try encoder.write(byte: self ? 0xF5 : 0xF4)
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.bool()
    }
}

extension String: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.string()
    }
}

extension Double: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.double()
    }
}

extension Float: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.float()
    }
}

// Integers of at most 64 bits. An internal protocol: an integer type of another module may be wider.

@usableFromInline
protocol SignedField: FieldCodable, FixedWidthInteger, SignedInteger {}

extension SignedField {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        try encoder.write(signed: Int64(self))
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.integer(Self.self)
    }
}

extension Int: FieldCodable, SignedField {}
extension Int64: FieldCodable, SignedField {}
extension Int32: FieldCodable, SignedField {}
extension Int16: FieldCodable, SignedField {}
extension Int8: FieldCodable, SignedField {}

@usableFromInline
protocol UnsignedField: FieldCodable, FixedWidthInteger, UnsignedInteger {}

extension UnsignedField {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        try encoder.writeHead(0x00, UInt64(self))
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.integer(Self.self)
    }
}

extension UInt: FieldCodable, UnsignedField {}
extension UInt64: FieldCodable, UnsignedField {}
extension UInt32: FieldCodable, UnsignedField {}
extension UInt16: FieldCodable, UnsignedField {}
extension UInt8: FieldCodable, UnsignedField {}
