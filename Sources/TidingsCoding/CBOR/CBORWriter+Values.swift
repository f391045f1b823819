#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CBORWriter {
    /// Encodes any value at the cursor of the current frame. If the value throws, nothing is left of it or of its key.
    ///
    /// `keyLength` is the size of the key that was just written, `index` the position in an array or −1, `intKey` the
    /// key's number if it has one.
    func write<T: Encodable>(_ value: T, keyLength: Int, index: Int) throws {
        if try !writeKnown(value) { try writeOther(value, keyLength: keyLength, index: index, intKey: nil) }
    }

    /// The same for a value of a type that has no form of its own here.
    func writeOther<T: Encodable>(_ value: T, keyLength: Int, index: Int, intKey: Int?) throws {
        let parent = current
        let entries = currentCount
        let child = push(keyLength: keyLength, index: index, intKey: intKey)
        do {
            try value.encode(to: CBOREncoder(writer: self, frame: child))
            // As JSONEncoder does inside a container: a value that encodes nothing is an empty map.
            if frames[Int(child.number)].kind == .empty {
                try activate(child)
                try write(byte: CBORByte.emptyMap)
            }
            pop(child, to: parent)
        } catch {
            let start = frames[Int(child.number)].start - frames[Int(child.number)].keyLength
            // `child` is below `frameCount` until it is popped: only its makers pop it.
            pop(child, to: parent)
            // What the value may have put into its surroundings by the back door goes with it only if no header says
            // otherwise.
            if currentCount == entries { takeBack(to: start) } else { fail(error) }
            throw error
        }
    }

    /// Encodes a value of a type that has a form of its own here. Returns false for all other types.
    ///
    /// The comparisons are of two pointers each; the most frequent come first.
    func writeKnown<T: Encodable>(_ value: T) throws -> Bool {
        // Each bit cast is between a type and itself, as the comparison before it says.
        if T.self == String.self {
            try write(unsafeBitCast(value, to: String.self))
        } else if T.self == Int.self {
            try write(signed: unsafeBitCast(value, to: Int.self))
        } else if T.self == Double.self {
            try write(unsafeBitCast(value, to: Double.self))
        } else if T.self == Bool.self {
            try write(unsafeBitCast(value, to: Bool.self))
        } else if T.self == UInt8.self {
            try write(.unsigned, UInt64(unsafeBitCast(value, to: UInt8.self)))
        } else if T.self == Float.self {
            try write(unsafeBitCast(value, to: Float.self))
        } else if T.self == Data.self {
            try unsafeBitCast(value, to: Data.self).withUnsafeBytes { try write(.bytes, bytes: $0) }
        } else if T.self == Date.self {
            try write(unsafeBitCast(value, to: Date.self))
        } else if T.self == UUID.self {
            try write(.tag, CBORTag.uuid)
            try withUnsafeBytes(of: unsafeBitCast(value, to: UUID.self).uuid) { try write(.bytes, bytes: $0) }
        } else if T.self == URL.self {
            try write(.tag, CBORTag.uri)
            try write(unsafeBitCast(value, to: URL.self).absoluteString)
        } else if T.self == Decimal.self {
            try write(unsafeBitCast(value, to: Decimal.self))
        } else {
            return false
        }
        return true
    }

    /// Seconds since 1970 in a double (tag 1) where that is exact. `Date` stores seconds since 2001. Half of the
    /// present dates lie between two doubles of the larger number: these become text (tag 0), with as many digits as
    /// needed.
    private func write(_ date: Date) throws {
        if let seconds = date.exactSecondsSince1970 {
            try write(.tag, CBORTag.epochTime)
            try write(seconds)
        } else {
            try writeInexactSince1970(date, date.timeIntervalSince1970)
        }
    }

    /// Beyond the years that RFC 3339 has, and for infinities and NaN: extended time (tag 1001, RFC 9581), with the
    /// stored number under a key that other decoders may pass over.
    @inline(never)
    private func writeInexactSince1970(_ date: Date, _ seconds: Double) throws {
        let number = date.timeIntervalSinceReferenceDate
        // Of the two zeros text has one.
        if number != 0, let text = CBORDateText.format(date) {
            try write(.tag, CBORTag.dateText)
            try write(text)
        } else {
            try write(.tag, CBORTag.extendedTime)
            try write(.map, 2)
            try write(.unsigned, CBORExtendedTime.seconds)
            try write(seconds)
            try write(CBORExtendedTime.sinceReferenceDate)
            try write(number)
        }
    }

    /// Tag 4 and [exponent, mantissa] (RFC 8949, 3.4.4), which is exact. Not a number is the float of that name.
    private func write(_ value: Decimal) throws {
        if value.isNaN { return try write(Double.nan) }
        // The significand's magnitude is a whole number below 2¹²⁸, and its description is its digits: Decimal offers
        // no integer of that width.
        guard let mantissa = UInt128(value.significand.magnitude.description) else {
            throw fail(CBORMisuse.notFinite.error(path: path(to: current), value: value))
        }
        try write(.tag, CBORTag.decimalFraction)
        try write(.array, 2)
        try write(signed: value.exponent)
        if value.sign == .minus && mantissa > 0 {
            try write(magnitude: mantissa - 1, major: .negative, tag: CBORTag.negativeBignum)
        } else {
            try write(magnitude: mantissa, major: .unsigned, tag: CBORTag.positiveBignum)
        }
    }
}
