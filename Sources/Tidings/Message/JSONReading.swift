import TidingsCoding

/// Values from JSON, within the same bounds as from CBOR.
enum JSONReading {
    /// Throws what the decoder throws, and faults. The bytes are a copy, which no other process changes.
    static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws -> T {
        try JSONPayload.checkEncoding(bytes)
        if type == SharedNotificationCenter.PropertyValue.self {
            return try JSONPropertyReader.read(bytes) as! T
            // The type is that, as the comparison says; so below.
        }
        if type == SharedNotificationCenter.UserInfo.self {
            guard case .dictionary(let entries) = try JSONPropertyReader.read(bytes) else {
                throw DecodingError.typeMismatch(
                    type, DecodingError.Context(codingPath: [], debugDescription: "expected an object"))
            }
            return entries as! T
        }
        return try JSONPayload.decode(type, bytes)
    }
}
