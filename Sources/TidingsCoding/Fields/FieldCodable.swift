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
