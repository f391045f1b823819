import FoundationEssentials

/// CBOR as JSON, along RFC 8949, section 6.1.
///
/// Byte strings become base64. Infinities, NaN and undefined become null. Tags are left out. A date becomes seconds
/// since 1970, whichever form the encoder chose. A key that is no string becomes a string of its JSON text. Within such
/// a key no other such key is allowed: each level would escape the text once more, and double it.
package struct CBORToJSON {
    private var cursor: ByteCursor
    private var result = ""
    private var isInKey = false

    /// `nil` if the bytes are not one well-formed item, if the decoder would refuse their depth or tags, or if a key
    /// that is no string stands within another such key.
    package static func convert(_ bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            var converter = CBORToJSON(cursor: ByteCursor(bytes))
            guard (try? converter.item(depth: 0)) != nil, converter.cursor.isAtEnd else { return nil }
            return converter.result
        }
    }

    private mutating func item(depth: Int) throws(CBORFault) {
        let (head, tag) = try cursor.takeContent()
        switch head.major {
        case .unsigned: result += String(head.argument)
        case .negative: result += String(~Int128(head.argument))
        case .bytes:
            let (data, end) = try cursor.bytes.data(of: head)
            cursor.offset = end
            result += "\"" + data.base64EncodedString() + "\""
        case .text:
            let (text, end) = try cursor.bytes.text(of: head)
            cursor.offset = end
            if tag == CBORTag.dateText, let date = CBORDateText.parse(text) {
                append(date.timeIntervalSince1970)
            } else {
                result += JSONText.quoted(text)
            }
        case .array:
            try elements(of: head, depth, "[", "]") { (converter) throws(CBORFault) in
                try converter.item(depth: depth + 1)
            }
        case .map:
            try elements(of: head, depth, "{", "}") { (converter) throws(CBORFault) in
                try converter.key(depth: depth + 1)
                converter.result += ":"
                try converter.item(depth: depth + 1)
            }
        case .simple: try simple(head)
        case .tag: break
        }
    }

    private mutating func elements(
        of head: CBORHead, _ depth: Int, _ begin: String, _ end: String,
        _ element: (inout CBORToJSON) throws(CBORFault) -> Void
    ) throws(CBORFault) {
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: head.end) }
        result += begin
        var count: UInt64 = 0
        // A count beyond the bytes ends this loop soon: no element is shorter than a byte.
        while try head.isIndefinite ? !cursor.takeStop() : count < head.argument {
            if count > 0 { result += "," }
            try element(&self)
            count += 1
        }
        result += end
    }

    private mutating func key(depth: Int) throws(CBORFault) {
        let head = try cursor.bytes.head(at: cursor.offset)
        guard !isInKey || head.major == .text else { throw CBORFault(.keys, at: cursor.offset) }
        let wasInKey = isInKey
        isInKey = true
        defer { isInKey = wasInKey }
        // Moved aside rather than copied, so that many keys cost no more than few.
        var before = ""
        swap(&before, &result)
        try item(depth: depth)
        swap(&before, &result)
        // Compare bytes: an accent that begins a key makes one character with the quotation mark.
        result += before.utf8.first == UInt8(ascii: "\"") ? before : JSONText.quoted(before)
    }

    private mutating func simple(_ head: CBORHead) throws(CBORFault) {
        switch head.info {
        case 20: result += "false"
        case 21: result += "true"
        case 22, 23: result += "null"
        case 25, 26: append(Float(head.float ?? 0))
        case 27: append(head.float ?? 0)
        case 31: throw CBORFault(.stop, at: head.end - 1)
        default: result += String(head.argument)
        }
    }

    private mutating func append<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ number: Number) {
        let text = number.isFinite ? number.description : "null"
        result += text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
