extension SharedNotificationCenter {
    /// A value that has a place in a payload without `Codable` being asked. Public for the code that `@Message` generates, and called by nobody
    /// else: there is nothing to be gained by conforming to it by hand.
    ///
    /// What `@Message` generates for a struct, and what it puts the struct's fields together from: numbers, texts, truth values, and
    /// optionals, arrays and dictionaries of them. The bytes are those that the library's `Encoder` writes, so either side may be built
    /// without the macro.
    public protocol FieldCodable: Codable {
        /// Writes the value as one CBOR item. For generated code.
        ///
        /// - Throws: what the poster is told as `.encodingFailed`, or of a place for the payload that there is not: `.payloadTooLarge`, `.noSpace`,
        ///   `.full`.
        func encodeField(to encoder: inout FieldEncoder) throws
        /// Reads one CBOR item. For generated code.
        ///
        /// - Throws: what the observer's `onUndecodable` is told, as a `DecodingError`.
        init(decodingField decoder: inout FieldDecoder) throws
    }
}

// A message that nothing was generated for is what Codable makes of it.
extension SharedNotificationCenter.Message {
    /// Writes the message as its `encode(to:)` has it.
    ///
    /// - Throws: as ``SharedNotificationCenter/FieldCodable/encodeField(to:)``.
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.encodeCodable(self)
    }

    /// Reads the message as its `init(from:)` has it.
    ///
    /// - Throws: as ``SharedNotificationCenter/FieldCodable/init(decodingField:)``.
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.decodeCodable(Self.self)
    }
}
