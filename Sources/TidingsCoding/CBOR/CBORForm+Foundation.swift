import FoundationEssentials

extension CBORForm {
    static func ofFoundation(_ type: Any.Type) -> (any CBORValue.Type)? {
        if type == Data.self { return Data.self }
        if type == Date.self { return Date.self }
        if type == UUID.self { return UUID.self }
        if type == URL.self { return URL.self }
        if type == Decimal.self { return Decimal.self }
        return nil
    }
}

/// A byte string.
extension Data: CBORValue {
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) { self = try reader.data(at: place) }
    func write(to writer: inout CBORWriter) throws {
        try withUnsafeBytes { try writer.write(.bytes, bytes: $0) }
    }
}

extension Date: CBORValue {
    /// A number of seconds since 1970 with or without tag 1, the text of tag 0, or extended time as we write it.
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) {
        let (head, tag) = try reader.bytes.content(at: place)
        if head.major == .map && tag == CBORTag.extendedTime {
            self.init(timeIntervalSinceReferenceDate: try Date.extendedTime(head, reader, place))
        } else if head.major == .text && tag == CBORTag.dateText {
            guard let date = CBORDateText.parse(try reader.string(at: place)) else {
                throw CBORFault(.dateText, at: Int(place.offset))
            }
            self = date
        } else {
            let seconds = try reader.double(at: place)
            guard seconds.isFinite else { throw CBORFault(.dateRange, at: Int(place.offset)) }
            self.init(timeIntervalSince1970: seconds)
        }
    }

    /// The number that a `Date` stores, in a map. A map without it is another encoder's, and may hold more than a date:
    /// refused.
    private static func extendedTime(
        _ head: CBORHead, _ reader: CBORReader, _ place: CBORPlace
    ) throws(CBORFault) -> Double {
        let (map, saved) = (try reader.contents(of: .map, at: place), reader.hint)
        defer { reader.hint = saved }
        let key = CBORKey(stringValue: CBORExtendedTime.sinceReferenceDate)
        guard let hit = try reader.find(key, in: map, keeping: false) else { throw .mismatch(head, at: place.offset) }
        return try reader.double(at: hit.value)
    }

    /// Seconds since 1970 in a double (tag 1) where that is exact. `Date` stores seconds since 2001: half of the
    /// present dates lie between two doubles of the larger number. These become text (tag 0) with all digits needed.
    func write(to writer: inout CBORWriter) throws {
        if let seconds = exactSecondsSince1970 {
            try writer.write(.tag, CBORTag.epochTime)
            try writer.write(seconds)
        } else {
            try writeInexactSince1970(to: &writer)
        }
    }

    /// Beyond the years that RFC 3339 has, and for infinities and NaN: extended time (tag 1001, RFC 9581), with the
    /// stored number under a key that other decoders may pass over.
    @inline(never)
    private func writeInexactSince1970(to writer: inout CBORWriter) throws {
        // Of the two zeros text has one.
        if timeIntervalSinceReferenceDate != 0, let text = CBORDateText.format(self) {
            try writer.write(.tag, CBORTag.dateText)
            return try writer.write(text)
        }
        try writer.write(.tag, CBORTag.extendedTime)
        try writer.write(.map, 2)
        try writer.write(.unsigned, CBORExtendedTime.seconds)
        try writer.write(timeIntervalSince1970)
        try writer.write(CBORExtendedTime.sinceReferenceDate)
        try writer.write(timeIntervalSinceReferenceDate)
    }
}

extension UUID: CBORValue {
    /// Sixteen bytes with or without tag 37, or the usual text.
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) {
        if try reader.bytes.content(at: place).head.major == .text {
            let text = try reader.string(at: place)
            // Foundation reads it as C would: it takes a sign for a digit, and ignores what follows.
            guard UUID.isUUID(text.utf8), let uuid = UUID(uuidString: text) else {
                throw CBORFault(.uuidText, at: Int(place.offset))
            }
            self = uuid
            return
        }
        let bytes = try reader.data(at: place)
        guard bytes.count == MemoryLayout<uuid_t>.size else { throw CBORFault(.uuidSize, at: Int(place.offset)) }
        self.init(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        // In bounds: compared above, and the bytes are a copy.
    }

    private static func isUUID(_ text: String.UTF8View) -> Bool {
        text.count == 36
            && text.enumerated().allSatisfy { index, byte in
                let isDash = index == 8 || index == 13 || index == 18 || index == 23
                return isDash ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
            }
    }

    func write(to writer: inout CBORWriter) throws {
        try writer.write(.tag, CBORTag.uuid)
        try withUnsafeBytes(of: uuid) { try writer.write(.bytes, bytes: $0) }
    }
}

extension URL: CBORValue {
    /// A text with or without tag 32.
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) {
        guard let url = URL(string: try reader.string(at: place)) else { throw CBORFault(.url, at: Int(place.offset)) }
        self = url
    }

    func write(to writer: inout CBORWriter) throws {
        try writer.write(.tag, CBORTag.uri)
        try writer.write(absoluteString)
    }
}

extension Decimal: CBORValue {
    /// A decimal fraction (tag 4), an integer, or a floating-point number.
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) {
        let (head, tag) = try reader.bytes.content(at: place)
        let number: Decimal?
        switch head.major {
        case .array, .unsigned, .negative, .bytes: number = Decimal(try reader.number(head, tag, at: place))
        default:
            let double = try reader.double(at: place)
            if double.isNaN {
                self = .nan
                return
            }
            number = abs(double) < 1e127 ? Decimal(double) : nil
        }
        // Decimal's arithmetic has one error, NaN, which the payload did not hold.
        guard let number, !number.isNaN else { throw CBORFault(.decimalRange, at: Int(place.offset)) }
        self = number
    }

    private init?(_ number: CBORNumber) {
        self = 0
        guard let absolute = number.absolute else { return nil }
        if absolute == 0 { return }
        guard (-128...127).contains(number.exponent) else { return nil }
        // Exact: a Decimal's significand has 128 bits.
        let upper = Decimal(UInt64(truncatingIfNeeded: absolute >> 64)) * (Decimal(UInt64.max) + 1)
        let significand = upper + Decimal(UInt64(truncatingIfNeeded: absolute))
        self.init(sign: number.isNegative ? .minus : .plus, exponent: number.exponent, significand: significand)
    }

    /// Tag 4 and [exponent, mantissa] (RFC 8949, 3.4.4), which is exact. Not a number is the float of that name.
    func write(to writer: inout CBORWriter) throws {
        if isNaN { return try writer.write(Double.nan) }
        // The significand's magnitude is a whole number below 2¹²⁸, and its description is its digits: Decimal offers
        // no integer of that width.
        guard let mantissa = UInt128(significand.magnitude.description) else {
            throw writer.fail(CBORMisuse.notFinite.error(path: writer.path(to: writer.current.id), value: self))
        }
        try writer.write(.tag, CBORTag.decimalFraction)
        try writer.write(.array, 2)
        try writer.write(integer: exponent)
        let isNegative = sign == .minus && mantissa > 0
        try writer.write(wide: isNegative ? mantissa - 1 : mantissa, isNegative: isNegative)
    }
}
