/// Pieces of JSON text, on one line.
package enum JSONText {
    /// Deeper nesting is shown as bytes: as much as JSON parsers commonly take, and no danger to any stack.
    package static let maximumDepth = 128

    package static func quoted(_ text: String) -> String {
        var result = "\""
        appendEscaped(text, to: &result)
        return result + "\""
    }

    package static func appendEscaped(_ text: String, to result: inout String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            // Control characters, and the two line ends that some readers of lines take for such.
            case "\u{0}"..."\u{1f}", "\u{7f}", "\u{85}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
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
package struct JSONCompactor {
    private let bytes: [UInt8]
    private var place = 0
    private var result: [UInt8] = []

    /// `nil`: it is not JSON.
    package static func compact(_ bytes: [UInt8]) -> String? {
        var compactor = JSONCompactor(bytes: bytes)
        guard compactor.value(depth: 0), compactor.skipSpace() == nil else { return nil }
        return String(validating: compactor.result, as: UTF8.self)
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
        result.reserveCapacity(bytes.count)
    }

    /// The next byte that is no space, not taken yet.
    private mutating func skipSpace() -> UInt8? {
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): place += 1
            case let byte: return byte
            }
        }
        return nil
    }

    private mutating func take() -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        result.append(bytes[place])
        return bytes[place]
    }

    private mutating func take(_ expected: UInt8) -> Bool {
        place < bytes.count && bytes[place] == expected && take() != nil
    }

    private mutating func value(depth: Int) -> Bool {
        guard depth < JSONText.maximumDepth, let byte = skipSpace() else { return false }
        switch byte {
        case UInt8(ascii: "{"):
            return list(UInt8(ascii: "}")) {
                $0.skipSpace() == UInt8(ascii: "\"") && $0.string() && $0.skipSpace() == UInt8(ascii: ":")
                    && $0.take(UInt8(ascii: ":")) && $0.value(depth: depth + 1)
            }
        case UInt8(ascii: "["): return list(UInt8(ascii: "]")) { $0.value(depth: depth + 1) }
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func list(_ end: UInt8, _ element: (inout JSONCompactor) -> Bool) -> Bool {
        _ = take()
        if skipSpace() == end { return take(end) }
        while element(&self) {
            guard let next = skipSpace() else { return false }
            if next == end { return take(end) }
            guard next == UInt8(ascii: ","), take(next) else { return false }
        }
        return false
    }

    private mutating func string() -> Bool {
        _ = take()
        while let byte = take() {
            switch byte {
            case UInt8(ascii: "\""): return true
            case 0..<0x20: return false
            // As in `appendEscaped`: what some readers of lines take for the end of one. The text is checked for UTF-8 afterwards.
            case 0x7F: escape(last: 1, as: "7f")
            case 0x85 where result.suffix(2).first == 0xC2: escape(last: 2, as: "85")
            case 0xA8 where result.suffix(3).starts(with: [0xE2, 0x80]): escape(last: 3, as: "2028")
            case 0xA9 where result.suffix(3).starts(with: [0xE2, 0x80]): escape(last: 3, as: "2029")
            case UInt8(ascii: "\\"):
                guard let escape = take() else { return false }
                if escape == UInt8(ascii: "u") {
                    for _ in 0..<4 {
                        guard let digit = take(), Character(Unicode.Scalar(digit)).isHexDigit else { return false }
                    }
                } else if !"\"\\/bfnrt".utf8.contains(escape) {
                    return false
                }
            default: break
            }
        }
        return false
    }

    /// Puts a character's number in place of its bytes.
    private mutating func escape(last count: Int, as digits: String) {
        result.removeLast(count)
        result += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)".utf8
    }

    private mutating func word(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { $0.allSatisfy { take($0) } }
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { guard digits() else { return false } }
        if take(UInt8(ascii: ".")) { guard digits() else { return false } }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "-")) { _ = take(UInt8(ascii: "+")) }
            guard digits() else { return false }
        }
        return true
    }

    private mutating func digits() -> Bool {
        let begin = place
        while place < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place]) { _ = take() }
        return place > begin
    }
}
