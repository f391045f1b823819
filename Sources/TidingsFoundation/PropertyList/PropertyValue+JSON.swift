// Property lists from payloads in JSON, within the same bounds as from CBOR.
import Tidings
import TidingsCoding

extension SharedNotificationCenter.PropertyValue: JSONPayloadDecodable {
    /// Not by `JSONDecoder`, which does not report the kind of a value. A caller would have to ask it for one type
    /// after another. Each wrong type would cost an error, with a path of as many keys as the value is deep.
    package init(jsonPayload bytes: [UInt8]) throws {
        self = try JSONTokenizer.read(bytes) { (tokenizer, token) throws(CBORFault) in
            guard let value = try Self.value(token, &tokenizer) else { throw CBORFault(.null, at: token.start) }
            return value
        }
    }

    /// Returns `nil` for null.
    private static func value(
        _ token: JSONTokenizer.Token, _ tokenizer: inout JSONTokenizer
    ) throws(CBORFault) -> Self? {
        switch token.kind {
        case .beginObject: return .dictionary(try entries(token, &tokenizer))
        case .beginArray:
            var elements: [Self] = []
            try tokenizer.elements(of: token) { (tokenizer, token) throws(CBORFault) in
                guard let value = try value(token, &tokenizer) else { throw CBORFault(.null, at: token.start) }
                elements.append(value)
            }
            return .array(elements)
        case .string: return .string(try tokenizer.text(of: token))
        case .atom where tokenizer.isAtom(token, "true"): return .boolean(true)
        case .atom where tokenizer.isAtom(token, "false"): return .boolean(false)
        case .atom where tokenizer.isAtom(token, "null"): return nil
        case .atom:
            guard let number = JSONNumber(tokenizer.bytes(of: token)) else { throw CBORFault(.json, at: token.start) }
            // A whole number is an integer if an `Int` can hold it, in any spelling (`1`, `1.0`, `1e0`).
            if let integer = number.integer { return .integer(integer) }
            guard let double = number.double else { throw CBORFault(.floatRange, at: token.start) }
            return .double(double)
        default: throw CBORFault(.json, at: token.start)
        }
    }

    private static func entries(
        _ token: JSONTokenizer.Token, _ tokenizer: inout JSONTokenizer
    ) throws(CBORFault) -> [String: Self] {
        var entries: [String: Self] = [:]
        var nulls: Set<String> = []
        try tokenizer.elements(of: token) { (tokenizer, key) throws(CBORFault) in
            let name = try tokenizer.text(of: key)
            let first = try tokenizer.value(behind: key)
            let value = try value(first, &tokenizer)
            // If keys are equal, the first one counts.
            guard entries[name] == nil && !nulls.contains(name) else { return }
            if let value { entries[name] = value } else { nulls.insert(name) }
        }
        return entries
    }
}

extension SharedNotificationCenter.UserInfo: JSONPayloadDecodable {
    package init(jsonPayload bytes: [UInt8]) throws {
        guard let entries = try SharedNotificationCenter.PropertyValue(jsonPayload: bytes).dictionary else {
            throw DecodingError.typeMismatch(
                Self.self, DecodingError.Context(codingPath: [], debugDescription: "expected an object"))
        }
        self = entries
    }
}
