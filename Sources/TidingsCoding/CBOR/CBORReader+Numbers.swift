// What a type can't hold exactly. One rule, for CBOR and JSON: an integer is exact or refused, also where the encoder
// wrote a floating-point number or a decimal fraction. A floating-point number is the nearest, and neither infinite nor
// 0 where the number is not. Bitwise payloads convert nothing.
extension CBORReader {
    func bool(at place: CBORPlace) throws(CBORFault) -> Bool {
        let head = try bytes.content(at: place).head
        if head.major == .simple {
            if head.info == 21 { return true }
            if head.info == 20 { return false }
        }
        throw .mismatch(head, at: place.offset)
    }

    /// Whether null or undefined is there.
    func isNull(at place: CBORPlace) throws(CBORFault) -> Bool {
        if place == .missing { return true }
        return try bytes.content(at: place).head.isNull
    }

    // MARK: Integers

    /// Any integer, a bignum, or a floating-point number or decimal fraction that is one: a sender in a language with
    /// one kind of number may write an integer so.
    @inline(__always)
    func integer<I: FixedWidthInteger>(_ type: I.Type, at place: CBORPlace) throws(CBORFault) -> I {
        let (head, tag) = try bytes.content(at: place)
        if head.major == .unsigned {
            if let value = I(exactly: head.argument) { return value }
        } else if head.major == .negative && head.argument <= UInt64(Int64.max) {
            if let value = I(exactly: ~Int64(bitPattern: head.argument)) { return value }
            // −1 − n is the complement of n, and n fits 63 bits here.
        } else {
            return try unusualInteger(type, head, tag, at: place)
        }
        throw CBORFault(.integerRange, at: Int(place.offset))
    }

    @inline(never)
    private func unusualInteger<I: FixedWidthInteger>(
        _ type: I.Type, _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> I {
        switch head.major {
        case .negative:
            if let value = I(exactly: ~Int128(head.argument)) { return value }
        case .bytes:
            let (isNegative, magnitude) = try bignum(head, tag, at: place)
            if !isNegative {
                if let value = I(exactly: magnitude) { return value }
            } else if magnitude <= UInt128(Int128.max), let value = I(exactly: ~Int128(magnitude)) {
                return value
            }
        case .simple:
            if let number = head.float, let value = I(exactly: number) { return value }
            if head.info < 25 || head.info > 27 { throw .mismatch(head, at: place.offset) }
        case .array:
            let (isNegative, magnitude, exponent) = try decimalParts(head, tag, at: place)
            if let magnitude = CBORReader.integer(magnitude, exponent: exponent) {
                if !isNegative || magnitude == 0 {
                    if let value = I(exactly: magnitude) { return value }
                } else if magnitude - 1 <= UInt128(Int128.max), let value = I(exactly: ~Int128(magnitude - 1)) {
                    return value
                }
            }
        default: throw .mismatch(head, at: place.offset)
        }
        throw CBORFault(.integerRange, at: Int(place.offset))
    }

    /// A bignum of up to 128 bits (RFC 8949, 3.4.3). A negative one stands for −1 − magnitude.
    func bignum(
        _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> (isNegative: Bool, magnitude: UInt128) {
        guard tag == CBORTag.positiveBignum || tag == CBORTag.negativeBignum, head.major == .bytes else {
            throw .mismatch(head, at: place.offset)
        }
        var magnitude: UInt128 = 0
        for byte in try data(at: place) {
            guard magnitude >> 120 == 0 else { throw CBORFault(.bignumRange, at: Int(place.offset)) }
            magnitude = magnitude << 8 | UInt128(byte)
        }
        return (tag == CBORTag.negativeBignum, magnitude)
    }

    // MARK: Decimal fractions

    /// The exponent of a decimal fraction (tag 4), and the place of its significand.
    func exponentAndSignificand(
        _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> (exponent: Int, significand: CBORPlace) {
        guard tag == CBORTag.decimalFraction, head.major == .array else { throw .mismatch(head, at: place.offset) }
        guard head.isIndefinite || head.argument == 2 else { throw CBORFault(.decimalPair, at: Int(place.offset)) }
        let first = CBORPlace(offset: UInt32(truncatingIfNeeded: head.end), span: place.span &+ 1)
        // Offsets fit 31 bits. The array is not empty, so that it has a span itself.
        let (exponentHead, _) = try bytes.content(at: first)
        // RFC 8949, 3.4.4: of major type 0 or 1. Another decimal fraction here would let a payload nest calls.
        guard exponentHead.major == .unsigned || exponentHead.major == .negative else {
            throw .mismatch(exponentHead, at: first.offset)
        }
        let exponent = try integer(Int.self, at: first)
        let second = try skip(first)
        if head.isIndefinite, try !bytes.isStop(at: Int(try skip(second).offset)) {
            throw CBORFault(.decimalPair, at: Int(place.offset))
        }
        return (exponent, second)
    }

    /// Of an integer, or a bignum of up to 128 bits.
    func significand(at place: CBORPlace) throws(CBORFault) -> (isNegative: Bool, magnitude: UInt128) {
        let (head, tag) = try bytes.content(at: place)
        var isNegative = head.major == .negative
        var magnitude = UInt128(head.argument)
        if head.major == .bytes {
            (isNegative, magnitude) = try bignum(head, tag, at: place)
        } else if head.major != .unsigned && head.major != .negative {
            throw .mismatch(head, at: place.offset)
        }
        // A negative one stands for −1 − magnitude.
        let (absolute, overflow) = magnitude.addingReportingOverflow(isNegative ? 1 : 0)
        guard !overflow else { throw CBORFault(.decimalRange, at: Int(place.offset)) }
        return (isNegative, absolute)
    }

    private func decimalParts(
        _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> (isNegative: Bool, magnitude: UInt128, exponent: Int) {
        let (exponent, place) = try exponentAndSignificand(head, tag, at: place)
        let (isNegative, magnitude) = try significand(at: place)
        return (isNegative, magnitude, exponent)
    }

    /// The significand times ten to the exponent. `nil`: no integer, or none of 128 bits.
    private static func integer(_ significand: UInt128, exponent: Int) -> UInt128? {
        if significand == 0 { return 0 }
        var value = significand
        // No more than 39 steps: as many digits have 128 bits.
        for _ in 0..<min(exponent.magnitude, 39) {
            if exponent < 0 {
                let (quotient, remainder) = value.quotientAndRemainder(dividingBy: 10)
                guard remainder == 0 else { return nil }
                value = quotient
            } else {
                let (product, overflow) = value.multipliedReportingOverflow(by: 10)
                guard !overflow else { return nil }
                value = product
            }
        }
        return value
    }

    // MARK: Floating-point numbers

    /// The nearest to any number, as JSON's are read; a finite number stays finite, and only 0 is 0.
    func double(at place: CBORPlace) throws(CBORFault) -> Double {
        let (head, tag) = try bytes.content(at: place)
        if head.major == .simple, let value = head.float { return value }
        return try nearest(Double.self, head, tag, at: place)
    }

    /// As `double(at:)`.
    func float(at place: CBORPlace) throws(CBORFault) -> Float {
        let (head, tag) = try bytes.content(at: place)
        if head.major == .simple && head.info == 26 {
            return Float(bitPattern: UInt32(truncatingIfNeeded: head.argument))
            // The argument of such a head has 32 bits. Not by way of a double, which would quieten a signalling NaN.
        }
        guard head.major == .simple, let wide = head.float else {
            // Not by way of a double either, which would round twice.
            return try nearest(Float.self, head, tag, at: place)
        }
        let value = Float(wide)
        if (value.isInfinite && wide.isFinite) || (value.isZero && !wide.isZero) {
            throw CBORFault(.floatRange, at: Int(place.offset))
        }
        return value
    }

    /// Of an integer, a bignum of up to 128 bits, or a decimal fraction.
    @inline(never)
    private func nearest<F: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: F.Type, _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> F {
        if head.major == .array { return try nearestToDecimal(type, head, tag, at: place) }
        var isNegative = head.major == .negative
        var magnitude = UInt128(head.argument)
        if head.major == .bytes {
            (isNegative, magnitude) = try bignum(head, tag, at: place)
        } else if head.major != .unsigned && head.major != .negative {
            throw .mismatch(head, at: place.offset)
        }
        // A negative one stands for −1 − magnitude.
        let (next, overflow) = magnitude.addingReportingOverflow(isNegative ? 1 : 0)
        let value = overflow ? F(sign: .plus, exponent: 128, significand: 1) : F(next)
        if value.isInfinite { throw CBORFault(.floatRange, at: Int(place.offset)) }
        return isNegative ? -value : value
    }

    private func nearestToDecimal<F: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: F.Type, _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> F {
        let (isNegative, magnitude, exponent) = try decimalParts(head, tag, at: place)
        if magnitude == 0 { return 0 }
        // By way of the text, which is rounded once. Every number beyond these exponents is out of range.
        guard (-10_000...10_000).contains(exponent), let value = F("\(magnitude)e\(exponent)"), value.isFinite,
            !value.isZero
        else { throw CBORFault(.floatRange, at: Int(place.offset)) }
        return isNegative ? -value : value
    }
}

extension CBORHead {
    /// Null or undefined.
    @inline(__always)
    var isNull: Bool { major == .simple && (info == 22 || info == 23) }

    /// The number in a head of major type 7. `nil` if the head holds something else.
    var float: Double? {
        switch info {
        case 27: Double(bitPattern: argument)
        case 26: Double(Float(bitPattern: UInt32(truncatingIfNeeded: argument)))
        case 25: CBORHead.half(UInt16(truncatingIfNeeded: argument))
        // Each argument has the width that its head announced.
        default: nil
        }
    }

    /// IEEE 754 binary16, by arithmetic: `Float16` doesn't exist everywhere.
    private static func half(_ bits: UInt16) -> Double {
        let fraction = Double(bits & 0x3FF)
        let exponent = Int(bits >> 10 & 0x1F)
        let magnitude: Double =
            switch exponent {
            case 0: fraction / 16_777_216
            case 31: fraction == 0 ? .infinity : .nan
            default: Double(sign: .plus, exponent: exponent - 25, significand: fraction + 1024)
            }
        return bits >> 15 == 0 ? magnitude : -magnitude
    }
}
