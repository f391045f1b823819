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
