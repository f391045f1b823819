#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CBORReader {
    /// Whether a type has a form of its own here: the counterpart of `CBORWriter.writeKnown`.
    ///
    /// Asked apart from `known`, because an optional of a generic type costs as much as three fields.
    static func knows(_ type: Any.Type) -> Bool {
        type == String.self || type == Int.self || type == Double.self || type == Bool.self || type == UInt8.self
            || type == Float.self || type == Data.self || type == Date.self || type == UUID.self || type == URL.self
            || type == Decimal.self
    }

    /// A value of one of those types.
    func known<T>(_ type: T.Type, at place: CBORPlace) throws(CBORFault) -> T {
        // Each bit cast is between a type and itself, as the comparison before it says.
        if type == String.self { return unsafeBitCast(try string(at: place), to: type) }
        if type == Int.self { return unsafeBitCast(try integer(Int.self, at: place), to: type) }
        if type == Double.self { return unsafeBitCast(try double(at: place), to: type) }
        if type == Bool.self { return unsafeBitCast(try bool(at: place), to: type) }
        if type == UInt8.self { return unsafeBitCast(try integer(UInt8.self, at: place), to: type) }
        if type == Float.self { return unsafeBitCast(try float(at: place), to: type) }
        if type == Data.self { return unsafeBitCast(try data(at: place), to: type) }
        if type == Date.self { return unsafeBitCast(try date(at: place), to: type) }
        if type == UUID.self { return unsafeBitCast(try uuid(at: place), to: type) }
        if type == URL.self { return unsafeBitCast(try url(at: place), to: type) }
        if type == Decimal.self { return unsafeBitCast(try decimal(at: place), to: type) }
        preconditionFailure("\(type) is not one of the types that `knows` lists")
    }

    /// A number of seconds since 1970 with or without tag 1, the text of tag 0, or extended time as we write it.
    private func date(at place: CBORPlace) throws(CBORFault) -> Date {
        let (head, tag) = try bytes.content(at: place)
        if head.major == .map && tag == CBORTag.extendedTime { return try extendedTime(head, at: place) }
        if head.major == .text && tag == CBORTag.dateText {
            guard let date = CBORDateText.parse(try string(at: place)) else {
                throw CBORFault(.dateText, at: Int(place.offset))
            }
            return date
        }
        let seconds = try double(at: place)
        guard seconds.isFinite else { throw CBORFault(.dateRange, at: Int(place.offset)) }
        return Date(timeIntervalSince1970: seconds)
    }

    /// A map with the number that a `Date` stores. A map without it is another encoder's, and may hold more than a
    /// date: refused.
    private func extendedTime(_ head: CBORHead, at place: CBORPlace) throws(CBORFault) -> Date {
        let (map, saved) = (try map(at: place), hint)
        defer { hint = saved }
        guard let hit = try find(CBORKey(stringValue: CBORExtendedTime.sinceReferenceDate), in: map, keeping: false)
        else {
            throw .mismatch(head, at: place.offset)
        }
        return Date(timeIntervalSinceReferenceDate: try double(at: hit.value))
    }

    /// Sixteen bytes with or without tag 37, or the usual text.
    private func uuid(at place: CBORPlace) throws(CBORFault) -> UUID {
        let head = try bytes.content(at: place).head
        if head.major == .text {
            let text = try string(at: place)
            // Foundation reads it as C would: a sign for a digit, and what follows it not at all.
            guard CBORReader.isUUID(text.utf8), let uuid = UUID(uuidString: text) else {
                throw CBORFault(.uuidText, at: Int(place.offset))
            }
            return uuid
        }
        let bytes = try data(at: place)
        guard bytes.count == MemoryLayout<uuid_t>.size else {
            throw CBORFault(.uuidSize, at: Int(place.offset))
        }
        return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        // In bounds: compared above, and the bytes are a copy.
    }

    private static func isUUID(_ text: String.UTF8View) -> Bool {
        guard text.count == 36 else { return false }
        for (index, byte) in text.enumerated() {
            let isDash = index == 8 || index == 13 || index == 18 || index == 23
            guard isDash ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit else { return false }
        }
        return true
    }

    /// A text with or without tag 32.
    private func url(at place: CBORPlace) throws(CBORFault) -> URL {
        guard let url = URL(string: try string(at: place)) else {
            throw CBORFault(.url, at: Int(place.offset))
        }
        return url
    }

    /// A decimal fraction (tag 4), an integer, or a floating-point number.
    private func decimal(at place: CBORPlace) throws(CBORFault) -> Decimal {
        let (head, tag) = try bytes.content(at: place)
        switch head.major {
        case .array: return try decimalFraction(head, tag, at: place)
        case .unsigned, .negative, .bytes: return try significand(at: place, exponent: 0)
        default:
            let value = try double(at: place)
            if value.isNaN { return .nan }
            guard value.isFinite, abs(value) < 1e127 else {
                throw CBORFault(.decimalRange, at: Int(place.offset))
            }
            return try number(Decimal(value), at: place)
        }
    }

    private func decimalFraction(_ head: CBORHead, _ tag: UInt64?, at place: CBORPlace) throws(CBORFault) -> Decimal {
        let (exponent, second) = try exponentAndSignificand(head, tag, at: place)
        return try significand(at: second, exponent: exponent)
    }

    private func significand(at place: CBORPlace, exponent: Int) throws(CBORFault) -> Decimal {
        let (isNegative, absolute) = try significand(at: place)
        guard (-128...127).contains(exponent) || absolute == 0 else {
            throw CBORFault(.decimalRange, at: Int(place.offset))
        }
        if absolute == 0 { return 0 }
        // Exact: a Decimal's significand has 128 bits.
        let upper = Decimal(UInt64(truncatingIfNeeded: absolute >> 64)) * (Decimal(UInt64.max) + 1)
        let lower = Decimal(UInt64(truncatingIfNeeded: absolute))
        let value = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: upper + lower)
        return try number(value, at: place)
    }

    /// What Decimal's arithmetic came to. Its only error is NaN, which the payload did not hold.
    private func number(_ value: Decimal, at place: CBORPlace) throws(CBORFault) -> Decimal {
        guard !value.isNaN else { throw CBORFault(.decimalRange, at: Int(place.offset)) }
        return value
    }
}
