// Re-exported: `@Message` expands in the user's file to calls of the field coders' members. A file that imports only
// `Tidings` must see these members, also with the upcoming feature `MemberImportVisibility`.
@_exported public import TidingsCoding

extension SharedNotificationCenter {
    /// What a type conforms to that `@Message` can code without asking `Codable`. Public for generated code.
    public typealias FieldCodable = TidingsCoding.FieldCodable
    /// Where generated code writes a message to. See ``FieldCodable``.
    public typealias FieldEncoder = TidingsCoding.FieldEncoder
    /// Where generated code reads a message from. See ``FieldCodable``.
    public typealias FieldDecoder = TidingsCoding.FieldDecoder
}

// A message without generated code: `Codable` codes it.
extension SharedNotificationCenter.Message {
    /// Writes the message with its `encode(to:)`.
    ///
    /// - Throws: what the poster is told as `.encodingFailed`, or of missing room for the payload: `.payloadTooLarge`,
    ///   `.noSpace`, `.full`.
    public func encodeField(to encoder: inout SharedNotificationCenter.FieldEncoder) throws {
        try encoder.encodeCodable(self)
    }

    /// Reads the message with its `init(from:)`.
    ///
    /// - Throws: what the observer's `onUndecodable` is told, as a `DecodingError`.
    public init(decodingField decoder: inout SharedNotificationCenter.FieldDecoder) throws {
        self = try decoder.decodeCodable(Self.self)
    }
}
