import FoundationEssentials

/// A type that is decoded from a payload in JSON by code of its own.
package protocol JSONPayloadDecodable: Decodable {
    /// Throws faults, and a `DecodingError` for JSON of another type.
    init(jsonPayload bytes: [UInt8]) throws
}

/// `Codable` values as JSON, by Foundation's coders or the type's own, within the same bounds as CBOR.
package enum JSONPayload {
    package static func encode<T: Encodable>(_ value: T) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        encoder.dateEncodingStrategy = .custom(encodeDate)
        return Array(try encoder.encode(value))
    }

    /// Throws what the decoder throws, and faults. The bytes are a copy, which no other process changes.
    package static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws -> T {
        // Foundation also takes UTF-16 and UTF-32. RFC 8259 has neither, and our own readers would see other text than
        // Foundation. Such text has a zero, 0xFE or 0xFF among its first four bytes.
        guard !bytes.prefix(4).contains(where: { $0 == 0 || $0 >= 0xFE }) else { throw CBORFault(.encoding, at: 0) }
        // The forced cast cannot fail: the value is of the type that was asked for.
        if let type = type as? any JSONPayloadDecodable.Type { return try type.init(jsonPayload: bytes) as! T }
        try checkDepth(bytes)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom(decodeDate)
        return try decoder.decode(type, from: Data(bytes))
    }

    /// Seconds since 1970, as `CBORToJSON` shows a date. A date that lies between two such doubles becomes a text, as
    /// in CBOR; beyond the years of the text, the nearest number. The encoder refuses a number that is not finite.
    @Sendable private static func encodeDate(_ date: Date, to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if date.exactSecondsSince1970 == nil, let text = CBORDateText.format(date) {
            try container.encode(text)
        } else {
            try container.encode(date.timeIntervalSince1970)
        }
    }

    @Sendable private static func decodeDate(from decoder: any Decoder) throws -> Date {
        let container = try decoder.singleValueContainer()
        guard let text = try? container.decode(String.self) else {
            return Date(timeIntervalSince1970: try container.decode(Double.self))
        }
        guard let date = CBORDateText.parse(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "a date is a number of seconds since 1970, or a text as in RFC 3339")
        }
        return date
    }

    /// Some types try to decode one type after another. Foundation makes an error of each failure, with a path as long
    /// as the value is deep.
    private static func checkDepth(_ bytes: [UInt8]) throws(CBORFault) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(CBORFault) in
            var tokenizer = JSONTokenizer(bytes)
            var depth = 0
            // A string without an end ends the loop. Foundation refuses it.
            while let token = try? tokenizer.nextOrEnd() {
                switch token.kind {
                case .beginArray, .beginObject: depth += 1
                case .endArray, .endObject: depth -= 1
                default: continue
                }
                if depth > CBORLimit.depth { throw CBORFault(.depth, at: token.start) }
            }
        }
    }
}
