/// JSON (RFC 8259) in tokens. The tokenizer finds where a token ends, and no more. What a token must be to count as
/// JSON is asked afterwards: `text(of:)`, `JSONNumber`, `elements(of:)`. The bytes are a copy that no process changes.
package struct JSONTokenizer {
    package struct Token {
        /// The values are the characters that begin the tokens.
        package enum Kind: UInt8 {
            case beginObject = 0x7B
            case endObject = 0x7D
            case beginArray = 0x5B
            case endArray = 0x5D
            case colon = 0x3A
            case comma = 0x2C
            case string = 0x22
            /// A number, `true`, `false`, `null`, or no JSON: everything up to a space or another token.
            case atom = 0
        }

        package let kind: Kind
        /// The offsets of the token; a string's quotation marks included.
        package let range: Range<Int>
        package var start: Int { range.lowerBound }
    }

    private var cursor: ByteCursor
    /// Arrays and objects around the next token.
    private var depth = 0

    /// Reads what is exactly one value: `read` is given its first token.
    package static func read<Value>(
        _ bytes: [UInt8], _ read: (inout JSONTokenizer, Token) throws(CBORFault) -> Value
    ) throws(CBORFault) -> Value {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(CBORFault) in
            var tokenizer = JSONTokenizer(bytes)
            let first = try tokenizer.next()
            let value = try read(&tokenizer, first)
            if let token = try tokenizer.nextOrEnd() { throw CBORFault(.trailing, at: token.start) }
            return value
        }
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        cursor = ByteCursor(bytes)
        // RFC 8259, 8.1: a parser may ignore a byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { cursor.offset = 3 }
    }

    // MARK: Tokens

    /// `nil` at the end.
    mutating func nextOrEnd() throws(CBORFault) -> Token? {
        while let byte = cursor.next, JSONTokenizer.isSpace(byte) { cursor.offset += 1 }
        let start = cursor.offset
        guard let first = cursor.take() else { return nil }
        let kind = Token.Kind(rawValue: first) ?? .atom
        switch kind {
        case .string: try skipString()
        case .atom:
            while let byte = cursor.next, !JSONTokenizer.isSpace(byte), Token.Kind(rawValue: byte) == nil {
                cursor.offset += 1
            }
        default: break
        }
        return Token(kind: kind, range: start..<cursor.offset)
    }

    package mutating func next() throws(CBORFault) -> Token {
        guard let token = try nextOrEnd() else { throw CBORFault(.truncated, at: cursor.offset) }
        return token
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// Moves behind the quotation mark that ends a string.
    private mutating func skipString() throws(CBORFault) {
        while let byte = cursor.take() {
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\") { _ = cursor.take() }
        }
        throw CBORFault(.truncated, at: cursor.offset)
    }

    // MARK: Arrays and objects

    /// Reads the elements of an array, or the members of an object, up to the end. `element` is given the first token
    /// of each, and reads the tokens behind it.
    package mutating func elements(
        of begin: Token, _ element: (inout JSONTokenizer, Token) throws(CBORFault) -> Void
    ) throws(CBORFault) {
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: begin.start) }
        depth += 1
        let end: Token.Kind = begin.kind == .beginObject ? .endObject : .endArray
        var token = try next()
        if token.kind != end {
            while true {
                try element(&self, token)
                token = try next()
                if token.kind == end { break }
                guard token.kind == .comma else { throw CBORFault(.json, at: token.start) }
                token = try next()
            }
        }
        depth -= 1
    }

    /// The first token of the value that belongs to a key.
    package mutating func value(behind key: Token) throws(CBORFault) -> Token {
        guard key.kind == .string else { throw CBORFault(.json, at: key.start) }
        let colon = try next()
        guard colon.kind == .colon else { throw CBORFault(.json, at: colon.start) }
        return try next()
    }

    // MARK: Strings and atoms

    package func bytes(of token: Token) -> UnsafeRawBufferPointer { cursor.bytes.slice(token.range) }

    package func isAtom(_ token: Token, _ word: StaticString) -> Bool {
        token.kind == .atom && cursor.bytes.equal(PayloadBytes(word).all, from: token.start, to: token.range.upperBound)
    }

    /// The text of a string.
    package func text(of string: Token) throws(CBORFault) -> String {
        var text: [UInt8] = []
        // The upper half of a pair, which the lower one must follow.
        var upper: UInt16?
        try pieces(of: string) { (offset, byte, unit) throws(CBORFault) in
            guard let unit else {
                if upper != nil { throw CBORFault(.json, at: offset) }
                return text.append(byte)
            }
            if let half = upper {
                guard 0xDC00...0xDFFF ~= unit else { throw CBORFault(.json, at: offset) }
                let scalar = Unicode.Scalar(0x10000 + UInt32(half & 0x3FF) << 10 + UInt32(unit & 0x3FF))
                text += UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
                upper = nil
            } else if let scalar = Unicode.Scalar(unit) {
                text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            } else {
                guard unit < 0xDC00 else { throw CBORFault(.json, at: offset) }
                upper = unit
            }
        }
        if upper != nil { throw CBORFault(.json, at: string.range.upperBound - 1) }
        if let text = String(validating: text, as: UTF8.self) { return text }
        throw CBORFault(.notUTF8, at: string.start + 1)
    }

    /// Calls `body` with each byte of a string, or with the UTF-16 code unit that an escape stands for, and its offset.
    func pieces(
        of string: Token, _ body: (_ offset: Int, _ byte: UInt8, _ escaped: UInt16?) throws(CBORFault) -> Void
    ) throws(CBORFault) {
        guard string.kind == .string else { throw CBORFault(.json, at: string.start) }
        var cursor = cursor
        cursor.offset = string.start + 1
        let end = string.range.upperBound - 1
        while cursor.offset < end, let byte = cursor.take() {
            let offset = cursor.offset - 1
            guard byte >= 0x20 else { throw CBORFault(.json, at: offset) }
            if byte == UInt8(ascii: "\\") {
                try body(offset, byte, JSONTokenizer.escape(&cursor))
            } else {
                try body(offset, byte, nil)
            }
        }
    }

    private static func escape(_ cursor: inout ByteCursor) throws(CBORFault) -> UInt16 {
        let start = cursor.offset
        switch cursor.take() {
        case UInt8(ascii: "\""): return 0x22
        case UInt8(ascii: "\\"): return 0x5C
        case UInt8(ascii: "/"): return 0x2F
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"):
            var unit: UInt16 = 0
            for _ in 0..<4 {
                guard let byte = cursor.take(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                    throw CBORFault(.json, at: cursor.offset)
                }
                unit = unit << 4 | UInt16(digit)
            }
            return unit
        default: throw CBORFault(.json, at: start)
        }
    }
}
