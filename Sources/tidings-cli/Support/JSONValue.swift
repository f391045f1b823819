import Foundation

/// A value inside a JSON text, as it is written there: no number or spelling changes.
struct JSONValue {
    /// From the value's first byte to the end of the text, which is valid JSON.
    private let rest: ArraySlice<UInt8>

    /// - Returns: `nil` if the text is not one JSON value.
    init?(_ text: [UInt8]) {
        guard isJSON(text) else { return nil }
        self.init(valid: text[...])
    }

    /// - Parameter text: begins with a JSON value, for instance the line of a payload that the library renders. If it
    ///   does not, the properties have no meaning, and no function reads beyond it.
    init(valid text: ArraySlice<UInt8>) {
        rest = text.drop(while: Self.isSpace)
    }

    /// The value as it is written.
    var text: ArraySlice<UInt8> { rest[..<end(of: rest.startIndex)] }

    var isNull: Bool { text.elementsEqual("null".utf8) }
    var isTrue: Bool { text.elementsEqual("true".utf8) }

    /// The content of a string; `nil`: another kind of value.
    var string: String? {
        let text = text
        guard text.first == UInt8(ascii: "\""), text.count >= 2 else { return nil }
        if !text.contains(UInt8(ascii: "\\")) { return String(decoding: text.dropFirst().dropLast(), as: UTF8.self) }
        return (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) as? String
    }

    /// An object's first value of that key, or an array's element of that number; `nil`: there is none.
    subscript(_ key: String) -> JSONValue? {
        switch rest.first {
        case UInt8(ascii: "{"):
            return child { start, _ in JSONValue(valid: rest[start...]).string == key }
        case UInt8(ascii: "["): return Int(key).flatMap { number in child { $1 == number } }
        default: return nil
        }
    }

    /// The first child for which `isWanted` is true. It receives where the child begins (an object's: where its key
    /// begins) and the child's number.
    private func child(where isWanted: (Int, Int) -> Bool) -> JSONValue? {
        let isObject = rest.first == UInt8(ascii: "{")
        var place = rest.startIndex + 1
        for number in 0... {
            place = skipSpace(from: place)
            guard place < rest.endIndex, ![UInt8(ascii: "}"), UInt8(ascii: "]")].contains(rest[place]) else { break }
            let start = place
            if isObject { place = skipSpace(from: skipSpace(from: end(of: place)) + 1) }
            if isWanted(start, number) { return JSONValue(valid: rest[min(place, rest.endIndex)...]) }
            place = skipSpace(from: end(of: place)) + 1
        }
        return nil
    }

    /// The index after the value that begins there.
    private func end(of start: Int) -> Int {
        var (place, depth) = (start, 0)
        repeat {
            guard place < rest.endIndex else { return rest.endIndex }
            switch rest[place] {
            case UInt8(ascii: "\""):
                place += 1
                while place < rest.endIndex, rest[place] != UInt8(ascii: "\"") {
                    place += rest[place] == UInt8(ascii: "\\") ? 2 : 1
                }
                place += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                place += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                place += 1
            case let byte where Self.isSpace(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":"): place += 1
            default: while place < rest.endIndex, !Self.endsAtom(rest[place]) { place += 1 }
            }
        } while depth > 0
        return min(place, rest.endIndex)
    }

    private func skipSpace(from start: Int) -> Int {
        var place = start
        while place < rest.endIndex, Self.isSpace(rest[place]) { place += 1 }
        return place
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private static func endsAtom(_ byte: UInt8) -> Bool {
        isSpace(byte) || [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]")].contains(byte)
    }
}

/// Whether the text is one JSON value.
func isJSON(_ text: String) -> Bool { isJSON(Array(text.utf8)) }

/// Whether the bytes are one JSON value in UTF-8.
func isJSON(_ bytes: [UInt8]) -> Bool {
    // Foundation also reads UTF-16 and UTF-32, which observers do not.
    String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0)
        && (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
}
