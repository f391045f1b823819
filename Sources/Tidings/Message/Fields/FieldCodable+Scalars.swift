extension Bool: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.write(byte: self ? 0xF5 : 0xF4)
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.bool()
    }
}

extension String: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.string()
    }
}

extension Double: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.double()
    }
}

extension Float: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws { try encoder.write(self) }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.float()
    }
}

// Integers of at most 64 bits. A protocol of the library's own: an integer of somebody else's may be wider, and isn't to be one by accident.

@usableFromInline
protocol SignedField: SharedNotificationCenter.FieldCodable, FixedWidthInteger, SignedInteger {}

extension SignedField {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.write(signed: Int64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(Self.self)
    }
}

extension Int: SharedNotificationCenter.FieldCodable, SignedField {}
extension Int64: SharedNotificationCenter.FieldCodable, SignedField {}
extension Int32: SharedNotificationCenter.FieldCodable, SignedField {}
extension Int16: SharedNotificationCenter.FieldCodable, SignedField {}
extension Int8: SharedNotificationCenter.FieldCodable, SignedField {}

@usableFromInline
protocol UnsignedField: SharedNotificationCenter.FieldCodable, FixedWidthInteger, UnsignedInteger {}

extension UnsignedField {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.writeHead(0x00, UInt64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(Self.self)
    }
}

extension UInt: SharedNotificationCenter.FieldCodable, UnsignedField {}
extension UInt64: SharedNotificationCenter.FieldCodable, UnsignedField {}
extension UInt32: SharedNotificationCenter.FieldCodable, UnsignedField {}
extension UInt16: SharedNotificationCenter.FieldCodable, UnsignedField {}
extension UInt8: SharedNotificationCenter.FieldCodable, UnsignedField {}
