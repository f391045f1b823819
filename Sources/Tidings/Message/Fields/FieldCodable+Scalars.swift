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

extension Int: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.write(signed: Int64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(Int.self)
    }
}

extension Int64: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.write(signed: Int64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(Int64.self)
    }
}

extension Int32: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.write(signed: Int64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(Int32.self)
    }
}

extension Int16: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.write(signed: Int64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(Int16.self)
    }
}

extension Int8: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.write(signed: Int64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(Int8.self)
    }
}

extension UInt: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.writeHead(0x00, UInt64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(UInt.self)
    }
}

extension UInt64: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.writeHead(0x00, UInt64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(UInt64.self)
    }
}

extension UInt32: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.writeHead(0x00, UInt64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(UInt32.self)
    }
}

extension UInt16: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.writeHead(0x00, UInt64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(UInt16.self)
    }
}

extension UInt8: SharedNotificationCenter.FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.writeHead(0x00, UInt64(self))
    }

    @inlinable
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.integer(UInt8.self)
    }
}
