#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// CBOR as JSON, along RFC 8949 section 6.1: byte strings as base64, infinities, NaN and undefined as null, tags left out, dates as seconds
/// since 1970 whichever form they have (the encoder chooses it by the date's last bit), keys that are no strings as their JSON text, but not
/// within such a key: each further time would escape everything once more, and double it.
package struct CBORToJSON {
    private let bytes: [UInt8]
    private var place = 0
    private var result = ""
    private var isInKey = false

    private enum Failure: Error {
        case malformed
    }

    /// `nil`: it is not one well-formed item, or nested too deep or with more tags than the decoder takes, or has keys that are no strings within such.
    package static func convert(_ bytes: [UInt8]) -> String? {
        var converter = CBORToJSON(bytes: bytes)
        guard (try? converter.item(depth: 0)) != nil, converter.place == bytes.count else { return nil }
        return converter.result
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// An item's head: its major type, and its argument, `nil` for an indefinite length.
    private mutating func head() throws -> (major: UInt8, information: UInt8, argument: UInt64?) {
        guard let initial = try take(1).first else { throw Failure.malformed }
        let information = initial & 31
        let argument: UInt64? =
            switch information {
            case 0..<24: UInt64(information)
            case 24...27: try take(1 << Int(information - 24)).reduce(0) { $0 << 8 | UInt64($1) }
            case 31: nil
            default: throw Failure.malformed
            }
        return (initial >> 5, information, argument)
    }

    private mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
        guard count <= bytes.count - place else { throw Failure.malformed }
        defer { place += count }
        return bytes[place..<place + count]
    }

    private mutating func takeBreak() throws -> Bool {
        guard place < bytes.count else { throw Failure.malformed }
        guard bytes[place] == 0xff else { return false }
        place += 1
        return true
    }

    private mutating func item(depth: Int) throws {
        guard depth < JSONText.maximumDepth else { throw Failure.malformed }
        var (major, information, argument) = try head()
        var tags = 0
        var tag: UInt64?
        while major == 6 {
            tag = try definite(argument)
            tags += 1
            guard tags <= CBORLimit.tags else { throw Failure.malformed }
            (major, information, argument) = try head()
        }
        switch major {
        case 0: result += String(try definite(argument))
        case 1:
            let value = try definite(argument)
            // −1 − value, which one bit more than Int64 may need.
            result += value == .max ? "-18446744073709551616" : "-\(value + 1)"
        case 2: result += "\"" + Data(try string(major, argument)).base64EncodedString() + "\""
        case 3:
            let text = try text(argument)
            if tag == CBORTag.dateText, let date = CBORDateText.parse(text) {
                append(date.timeIntervalSince1970)
            } else {
                result += JSONText.quoted(text)
            }
        case 4:
            result += "["
            try elements(argument) { try $0.item(depth: depth + 1) }
            result += "]"
        case 5:
            result += "{"
            try elements(argument) {
                try $0.key(depth: depth + 1)
                $0.result += ":"
                try $0.item(depth: depth + 1)
            }
            result += "}"
        default: try simple(information, try definite(argument))
        }
    }

    private mutating func elements(_ argument: UInt64?, _ element: (inout CBORToJSON) throws -> Void) throws {
        var left = argument
        var isFirst = true
        while left != 0 {
            if left == nil, try takeBreak() { return }
            // No element is shorter than a byte: a count beyond the bytes ends here, not in a long loop.
            if !isFirst { result += "," }
            try element(&self)
            isFirst = false
            left = left.map { $0 - 1 }
        }
    }

    private mutating func key(depth: Int) throws {
        guard place < bytes.count, bytes[place] >> 5 == 3 || !isInKey else { throw Failure.malformed }
        let wasInKey = isInKey
        isInKey = true
        defer { isInKey = wasInKey }
        // Moved aside rather than copied, so that many keys cost no more than few.
        var before = ""
        swap(&before, &result)
        try item(depth: depth)
        swap(&before, &result)
        // By its bytes: an accent that begins a key makes one character with the quotation mark.
        result += before.utf8.first == UInt8(ascii: "\"") ? before : JSONText.quoted(before)
    }

    private mutating func string(_ major: UInt8, _ argument: UInt64?) throws -> ArraySlice<UInt8> {
        if let argument {
            guard let count = Int(exactly: argument) else { throw Failure.malformed }
            return try take(count)
        }
        var whole: ArraySlice<UInt8> = []
        while !(try takeBreak()) {
            let (chunkMajor, _, length) = try head()
            guard chunkMajor == major, let length, let count = Int(exactly: length) else { throw Failure.malformed }
            let chunk = try take(count)
            // Each is valid by itself (RFC 8949, 3.2.3).
            if major == 3, String(validating: chunk, as: UTF8.self) == nil { throw Failure.malformed }
            whole += chunk
        }
        return whole
    }

    private mutating func text(_ argument: UInt64?) throws -> String {
        guard let text = String(validating: try string(3, argument), as: UTF8.self) else { throw Failure.malformed }
        return text
    }

    private func definite(_ argument: UInt64?) throws -> UInt64 {
        guard let argument else { throw Failure.malformed }
        return argument
    }

    private mutating func simple(_ information: UInt8, _ argument: UInt64) throws {
        switch information {
        case 20: result += "false"
        case 21: result += "true"
        case 22, 23: result += "null"
        case 25: append(Float(Float16(bitPattern: UInt16(argument))))
        case 26: append(Float(bitPattern: UInt32(argument)))
        case 27: append(Double(bitPattern: argument))
        // Such values have one byte.
        case 24 where argument < 32: throw Failure.malformed
        default: result += String(argument)
        }
    }

    private mutating func append<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ number: Number) {
        let text = number.isFinite ? number.description : "null"
        result += text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
