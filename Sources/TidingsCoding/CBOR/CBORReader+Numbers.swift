// What a type can't hold exactly. One rule, for CBOR and JSON: an integer is exact or refused, also where the encoder
// wrote a floating-point number or a decimal fraction. A floating-point number is the nearest. It is neither infinite
// nor 0 where the number is not. Bitwise payloads convert nothing.
extension CBORReader {
    func bool(at place: CBORPlace) throws(CBORFault) -> Bool {
        let head = try bytes.content(at: place).head
        guard let value = head.bool else { throw .mismatch(head, at: place.offset) }
        return value
    }

    /// Whether the item is null or undefined.
    func isNull(at place: CBORPlace) throws(CBORFault) -> Bool {
        if place == .missing { return true }
        return try bytes.content(at: place).head.isNull
    }

    /// Any integer, a bignum, or a floating-point number or decimal fraction that is whole: a sender in a language with
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
        let value: I?
        if head.major == .simple {
            guard let number = head.float else { throw .mismatch(head, at: place.offset) }
            value = I(exactly: number)
        } else if head.major == .array {
            value = try decimal(head, tag, at: place).integer(type)
        } else {
            value = try whole(head, tag, at: place).integer(type)
        }
        guard let value else { throw CBORFault(.integerRange, at: Int(place.offset)) }
        return value
    }

    /// The nearest to any number, as JSON's are read; a finite number stays finite, and only 0 is 0.
    func double(at place: CBORPlace) throws(CBORFault) -> Double {
        let (head, tag) = try bytes.content(at: place)
        if let value = head.double ?? head.float { return value }
        return try nearest(Double.self, head, tag, at: place)
    }

    /// As `double(at:)`.
    func float(at place: CBORPlace) throws(CBORFault) -> Float {
        let (head, tag) = try bytes.content(at: place)
        // Not by way of a double, which would quieten a signalling NaN, and round other numbers twice.
        if let value = head.single { return value }
        guard head.major == .simple, let wide = head.float else {
            return try nearest(Float.self, head, tag, at: place)
        }
        let value = Float(wide)
        if (value.isInfinite && wide.isFinite) || (value.isZero && !wide.isZero) {
            throw CBORFault(.floatRange, at: Int(place.offset))
        }
        return value
    }

    /// The nearest to an integer, a bignum of up to 128 bits, or a decimal fraction.
    @inline(never)
    private func nearest<F: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: F.Type, _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> F {
        let number =
            head.major == .array
            ? try decimal(head, tag, at: place).nearest(type) : try whole(head, tag, at: place).nearest(type)
        guard let number, number.isFinite else { throw CBORFault(.floatRange, at: Int(place.offset)) }
        return number
    }

    // MARK: Numbers of any size

    /// An integer, or a bignum of up to 128 bits (RFC 8949, 3.4.3).
    func whole(_ head: CBORHead, _ tag: UInt64?, at place: CBORPlace) throws(CBORFault) -> CBORWhole {
        if head.major == .unsigned || head.major == .negative {
            return CBORWhole(isNegative: head.major == .negative, argument: UInt128(head.argument))
        }
        guard tag == CBORTag.positiveBignum || tag == CBORTag.negativeBignum, head.major == .bytes else {
            throw .mismatch(head, at: place.offset)
        }
        var argument: UInt128 = 0
        for byte in try data(at: place) {
            guard argument >> 120 == 0 else { throw CBORFault(.bignumRange, at: Int(place.offset)) }
            argument = argument << 8 | UInt128(byte)
        }
        return CBORWhole(isNegative: tag == CBORTag.negativeBignum, argument: argument)
    }

    /// A decimal fraction (tag 4), or as `whole`.
    func decimal(_ head: CBORHead, _ tag: UInt64?, at place: CBORPlace) throws(CBORFault) -> CBORDecimal {
        var (exponent, place, head, tag) = (0, place, head, tag)
        if head.major == .array {
            (exponent, place) = try exponentAndSignificand(head, tag, at: place)
            (head, tag) = try bytes.content(at: place)
        }
        let significand = try whole(head, tag, at: place)
        guard let absolute = significand.absolute else { throw CBORFault(.decimalRange, at: Int(place.offset)) }
        return CBORDecimal(isNegative: significand.isNegative, significand: absolute, exponent: exponent)
    }

    private func exponentAndSignificand(
        _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> (exponent: Int, significand: CBORPlace) {
        guard tag == CBORTag.decimalFraction else { throw .mismatch(head, at: place.offset) }
        guard head.isIndefinite || head.argument == 2 else { throw CBORFault(.decimalPair, at: Int(place.offset)) }
        let first = CBORPlace(offset: UInt32(truncatingIfNeeded: head.end), span: place.span &+ 1)
        // Offsets fit 31 bits. The array is not empty, so it has a span itself.
        let exponentHead = try bytes.content(at: first).head
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
}

/// A whole number as CBOR writes it: the argument, or −1 − argument.
struct CBORWhole {
    var isNegative: Bool
    var argument: UInt128

    /// `nil`: 2¹²⁸.
    var absolute: UInt128? {
        let (next, overflow) = argument.addingReportingOverflow(isNegative ? 1 : 0)
        return overflow ? nil : next
    }

    func integer<I: FixedWidthInteger>(_ type: I.Type) -> I? {
        if !isNegative { return I(exactly: argument) }
        return Int128(exactly: argument).flatMap { I(exactly: ~$0) }
    }

    func nearest<F: BinaryFloatingPoint>(_ type: F.Type) -> F {
        let value = absolute.map { F($0) } ?? F(sign: .plus, exponent: 128, significand: 1)
        return isNegative ? -value : value
    }
}

/// A number as CBOR's decimal fractions have it.
struct CBORDecimal {
    var isNegative: Bool
    /// The absolute value, to be multiplied by ten to the exponent.
    var significand: UInt128
    var exponent: Int

    /// `nil`: the number is not whole, or the type does not have it.
    func integer<I: FixedWidthInteger>(_ type: I.Type) -> I? {
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
        return CBORWhole(isNegative: isNegative, argument: isNegative ? value - 1 : value).integer(type)
        // Not below 0: a significand that is not 0 stays so.
    }

    /// `nil`: out of the type's range.
    func nearest<F: BinaryFloatingPoint & LosslessStringConvertible>(_ type: F.Type) -> F? {
        if significand == 0 { return 0 }
        // By way of the text, which is rounded once. Every number beyond these exponents is out of range.
        guard (-10_000...10_000).contains(exponent), let value = F("\(significand)e\(exponent)"), !value.isZero else {
            return nil
        }
        return isNegative ? -value : value
    }
}
