#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Values from JSON, within the same bounds as from CBOR.
enum JSONReading {
    /// Throws what the decoder throws, and faults. The bytes are a copy, which nobody changes.
    static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws -> T {
        // UTF-16 and UTF-32, which Foundation takes too, have a zero here or one of these: RFC 8259 has neither, and what looks at JSON
        // beside Foundation would see other text than it.
        guard !bytes.prefix(4).contains(where: { $0 == 0 || $0 >= 0xFE }) else { throw CBORFault(.encoding, at: 0) }
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
        try checkDepth(bytes)
        return try JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Types take one thing after another, and Foundation makes an error of each that fails, with a path as long as the value is deep.
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
