// The field coders that generated code uses, and the coding of messages without generated code.
//
// The import is re-exported: `@Message` expands in the user's file to calls of the field coders' members. A file that
// imports only `Tidings` must see these members, also with the upcoming feature `MemberImportVisibility`.
@_exported public import TidingsCoding

extension SharedNotificationCenter {
    /// A type that `@Message` can code without `Codable`. Public for generated code.
    public typealias _FieldCodable = TidingsCoding._FieldCodable
    /// The output to which generated code writes a message. See ``_FieldCodable``.
    public typealias _FieldEncoder = TidingsCoding._FieldEncoder
    /// The input from which generated code reads a message. See ``_FieldCodable``.
    public typealias _FieldDecoder = TidingsCoding._FieldDecoder
}

// A message without generated code is coded by `Codable`.
extension SharedNotificationCenter.Message {
    /// Writes the message with its `encode(to:)`.
    ///
    /// - Throws: an error that the poster receives as `.encodingFailed`. If the payload finds no room, the poster
    ///   receives `.payloadTooLarge`, `.noSpace` or `.full`.
    public func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
        try encoder.encodeCodable(self)
    }

    /// Reads the message with its `init(from:)`.
    ///
    /// - Throws: an error that the observer's `onUndecodable` receives as a `DecodingError`.
    public init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
        self = try decoder.decodeCodable(Self.self)
    }
}
