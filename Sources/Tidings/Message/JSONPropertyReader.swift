import TidingsCoding

/// JSON (RFC 8259) as values of a property list, read in one pass.
///
/// Not by `JSONDecoder`: it doesn't say what a value is, and to ask it for one type after another makes an error of each that it isn't, with
/// a path of as many keys as the value is deep.
struct JSONPropertyReader {
    typealias PropertyValue = SharedNotificationCenter.PropertyValue

    private let bytes: [UInt8]
    private var place = 0

    static func read(_ bytes: [UInt8]) throws(CBORFault) -> PropertyValue {
        var reader = JSONPropertyReader(bytes: bytes)
        guard let value = try reader.value(depth: 0) else { throw CBORFault(.null, at: 0) }
        reader.skipSpace()
        guard reader.place == bytes.count else { throw CBORFault(.trailing, at: reader.place) }
        return value
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
        // What RFC 8259 lets a parser pass over.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { place = 3 }
    }

    private mutating func skipSpace() {
        while place < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[place]) { place += 1 }
    }

    /// The next byte that is no space, not taken yet.
    private mutating func next() throws(CBORFault) -> UInt8 {
        skipSpace()
        guard place < bytes.count else { throw CBORFault(.truncated, at: place) }
        return bytes[place]
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: byte) else { return false }
        place += 1
        return true
    }

    /// `nil`: null.
    private mutating func value(depth: Int) throws(CBORFault) -> PropertyValue? {
        switch try next() {
        case UInt8(ascii: "{"): return .dictionary(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return .boolean(try word("true", true))
        case UInt8(ascii: "f"): return .boolean(try word("false", false))
        case UInt8(ascii: "n"): return try word("null", nil)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(CBORFault) -> [String: PropertyValue] {
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: place) }
        var entries: [String: PropertyValue] = [:]
        var nulls: Set<String> = []
        place += 1
        if try next() == UInt8(ascii: "}") {
            place += 1
            return entries
        }
        while true {
            guard try next() == UInt8(ascii: "\"") else { throw CBORFault(.json, at: place) }
            let key = try string()
            guard try next() == UInt8(ascii: ":") else { throw CBORFault(.json, at: place) }
            place += 1
            let value = try value(depth: depth + 1)
            // Of equal keys the first counts.
            if entries[key] == nil && !nulls.contains(key) {
                if let value { entries[key] = value } else { nulls.insert(key) }
            }
            if try ends(with: "}") { return entries }
        }
    }

    private mutating func array(depth: Int) throws(CBORFault) -> [PropertyValue] {
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: place) }
        var elements: [PropertyValue] = []
        place += 1
        if try next() == UInt8(ascii: "]") {
            place += 1
            return elements
        }
        while true {
            let start = place
            guard let value = try value(depth: depth + 1) else { throw CBORFault(.null, at: start) }
            elements.append(value)
            if try ends(with: "]") { return elements }
        }
    }

    /// Behind an element: the end, or a comma.
    private mutating func ends(with end: Unicode.Scalar) throws(CBORFault) -> Bool {
        _ = try next()
        if take(end) { return true }
        guard take(",") else { throw CBORFault(.json, at: place) }
        return false
    }

    private mutating func word<Value>(_ word: StaticString, _ value: Value) throws(CBORFault) -> Value {
        guard word.withUTF8Buffer({ bytes[place...].starts(with: $0) }) else { throw CBORFault(.json, at: place) }
        place += word.utf8CodeUnitCount
        return value
    }

    // MARK: Strings

    private mutating func string() throws(CBORFault) -> String {
        place += 1
        var text: [UInt8] = []
        let start = place
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: text, as: UTF8.self) else { throw CBORFault(.notUTF8, at: start) }
                return text
            case 0..<0x20: throw CBORFault(.json, at: place - 1)
            case UInt8(ascii: "\\"): text += UTF8.encode(try escape())!
            default: text.append(byte)
            }
        }
        throw CBORFault(.truncated, at: place)
    }

    private mutating func escape() throws(CBORFault) -> Unicode.Scalar {
        guard place < bytes.count else { throw CBORFault(.truncated, at: place) }
        let start = place
        place += 1
        switch bytes[start] {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try codeUnit()
            if let scalar = Unicode.Scalar(unit) { return scalar }
            // The upper half of a pair, which the lower one follows.
            guard unit < 0xDC00, take("\\"), take("u") else { throw CBORFault(.json, at: start) }
            let lower = try codeUnit()
            guard 0xDC00...0xDFFF ~= lower,
                let scalar = Unicode.Scalar(0x10000 + UInt32(unit & 0x3FF) << 10 + UInt32(lower & 0x3FF))
            else { throw CBORFault(.json, at: start) }
            return scalar
        default: throw CBORFault(.json, at: start)
        }
    }

    private mutating func codeUnit() throws(CBORFault) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard place < bytes.count, let digit = Character(Unicode.Scalar(bytes[place])).hexDigitValue else {
                throw CBORFault(.json, at: place)
            }
            unit = unit << 4 | UInt16(digit)
            place += 1
        }
        return unit
    }

    // MARK: Numbers

    /// Whole numbers are integers, as far as `Int` has them, however they are written.
    private mutating func number() throws(CBORFault) -> PropertyValue {
        let start = place
        let isNegative = take("-")
        let whole = digits()
        guard whole.count == 1 || (whole.first.map { $0 != UInt8(ascii: "0") } ?? false) else {
            throw CBORFault(.json, at: start)
        }
        var (fraction, exponent) = ([] as ArraySlice<UInt8>, 0)
        if take(".") {
            fraction = digits()
            if fraction.isEmpty { throw CBORFault(.json, at: start) }
        }
        if take("e") || take("E") {
            let isSmall = take("-")
            if !isSmall { _ = take("+") }
            let written = digits()
            if written.isEmpty { throw CBORFault(.json, at: start) }
            // Beyond what any number of digits here makes up for.
            exponent = Int(String(decoding: written, as: UTF8.self)) ?? .max / 2
            if isSmall { exponent = -exponent }
        }
        if let integer = JSONPropertyReader.integer(isNegative, whole, fraction, exponent) { return .integer(integer) }
        guard let double = Double(String(decoding: bytes[start..<place], as: UTF8.self)), double.isFinite,
            !double.isZero || (whole + fraction).allSatisfy({ $0 == UInt8(ascii: "0") })
        else {
            throw CBORFault(.floatRange, at: start)
        }
        return .double(double)
    }

    private mutating func digits() -> ArraySlice<UInt8> {
        let start = place
        while place < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place]) { place += 1 }
        return bytes[start..<place]
    }

    /// Exactly, not by way of a double: `nil` for what is no whole number, or none that fits.
    private static func integer(
        _ isNegative: Bool, _ whole: ArraySlice<UInt8>, _ fraction: ArraySlice<UInt8>, _ exponent: Int
    ) -> Int? {
        let zero = UInt8(ascii: "0")
        var digits = (whole + fraction).drop { $0 == zero }
        var exponent = exponent - fraction.count
        while digits.last == zero {
            digits.removeLast()
            exponent += 1
        }
        if digits.isEmpty { return 0 }
        guard exponent >= 0, exponent < 19, digits.count + exponent < 20 else { return nil }
        digits += repeatElement(zero, count: exponent)
        return Int((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
    }
}
