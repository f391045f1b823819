extension SharedNotificationCenter {
    /// A value that has a place in a payload without `Codable` being asked.
    ///
    /// What `@Message` generates for a struct, and what it puts the struct's fields together from: numbers, texts, truth values, and
    /// optionals, arrays and dictionaries of them. The bytes are those that the library's `Encoder` writes, so either side may be built
    /// without the macro. There is nothing to be gained by conforming to it by hand.
    public protocol FieldCodable: Codable {
        /// Writes the value as one CBOR item.
        func encodeField(to encoder: inout FieldEncoder) throws
        /// Reads one CBOR item.
        init(decodingField decoder: inout FieldDecoder) throws
    }
}

// A message that nothing was generated for is what Codable makes of it.
extension SharedNotificationCenter.Message {
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.encodeCodable(self)
    }

    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.decodeCodable(Self.self)
    }
}
