#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `Codable` values as JSON, by Foundation's coders, within the same bounds as CBOR.
package enum JSONPayload {
    package static func encode<T: Encodable>(_ value: T) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return Array(try encoder.encode(value))
    }

    /// Throws what the decoder throws, and faults. The bytes are a copy, which no other process changes.
    package static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws -> T {
        try checkDepth(bytes)
        return try JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Foundation also takes UTF-16 and UTF-32. RFC 8259 has neither, and our own readers would see other text than
    /// Foundation. Such text has a zero, 0xFE or 0xFF among its first four bytes.
    package static func checkEncoding(_ bytes: [UInt8]) throws(CBORFault) {
        guard !bytes.prefix(4).contains(where: { $0 == 0 || $0 >= 0xFE }) else { throw CBORFault(.encoding, at: 0) }
    }

    /// Types try one value after another, and Foundation makes an error of each that fails, with a path as long as the value
    /// is deep.
    private static func checkDepth(_ bytes: [UInt8]) throws(CBORFault) {
        var (depth, isInString, isEscaped) = (0, false, false)
        for (place, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                if isInString { continue }
                depth += 1
                if depth > CBORLimit.depth { throw CBORFault(.depth, at: place) }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if !isInString { depth -= 1 }
            default: continue
            }
        }
    }
}
