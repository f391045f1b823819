/// Pieces of JSON text, on one line.
package enum JSONText {
    package static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default: append(scalar, to: &result)
            }
        }
        return result + "\""
    }

    /// Appends a character of a string. Escapes control characters, and the two characters that some programs take for
    /// the end of a line.
    static func append(_ scalar: Unicode.Scalar, to result: inout String) {
        switch scalar {
        case "\u{0}"..."\u{1f}", "\u{7f}", "\u{85}", "\u{2028}", "\u{2029}":
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: result.unicodeScalars.append(scalar)
        }
    }

    package static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        var result = ""
        result.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            result.unicodeScalars.append(digit(byte >> 4))
            result.unicodeScalars.append(digit(byte & 15))
        }
        return result
    }

    private static func digit(_ value: UInt8) -> Unicode.Scalar {
        Unicode.Scalar(value < 10 ? 48 + value : 87 + value)
    }
}

/// JSON text without the spaces between its parts, checked as RFC 8259 has it.
package enum JSONCompactor {
    /// `nil`: it is not JSON, or nested more than 128 deep.
    package static func compact(_ bytes: [UInt8]) -> String? {
        var result = ""
        result.reserveCapacity(bytes.count)
        let done: Void? = try? JSONTokenizer.read(bytes) { (tokenizer, token) throws(CBORFault) in
            try append(token, from: &tokenizer, to: &result)
        }
        return done == nil ? nil : result
    }

    private static func append(
        _ token: JSONTokenizer.Token, from tokenizer: inout JSONTokenizer, to result: inout String
    ) throws(CBORFault) {
        switch token.kind {
        case .beginArray, .beginObject:
            let isObject = token.kind == .beginObject
            var separator = ""
            result += isObject ? "{" : "["
            try tokenizer.elements(of: token) { (tokenizer, first) throws(CBORFault) in
                result += separator
                separator = ","
                var value = first
                if isObject {
                    value = try tokenizer.value(behind: first)
                    try append(string: first, from: tokenizer, to: &result)
                    result += ":"
                }
                try append(value, from: &tokenizer, to: &result)
            }
            result += isObject ? "}" : "]"
        case .string: try append(string: token, from: tokenizer, to: &result)
        case .atom:
            let text = tokenizer.bytes(of: token)
            guard
                JSONNumber(text) != nil || tokenizer.isAtom(token, "true") || tokenizer.isAtom(token, "false")
                    || tokenizer.isAtom(token, "null")
            else { throw CBORFault(.json, at: token.start) }
            result += String(decoding: text, as: UTF8.self)
        default: throw CBORFault(.json, at: token.start)
        }
    }

    /// As it is written, but for characters that end a line.
    private static func append(
        string: JSONTokenizer.Token, from tokenizer: JSONTokenizer, to result: inout String
    ) throws(CBORFault) {
        try tokenizer.pieces(of: string) { (_, _, _) throws(CBORFault) in }
        guard let text = String(validating: tokenizer.bytes(of: string), as: UTF8.self) else {
            throw CBORFault(.notUTF8, at: string.start)
        }
        for scalar in text.unicodeScalars { JSONText.append(scalar, to: &result) }
    }
}
