// One rule, for CBOR and JSON: an integer is exact or refused, also where the encoder wrote a floating-point number or
// a decimal fraction. A floating-point number is the nearest, and neither infinite nor 0 where the number is not.
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

    /// Also takes a floating-point number that is whole: a sender in a language with one kind of number may write so.
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
        } else {
            value = try number(head, tag, at: place).integer(type)
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
        guard let nearest = try number(head, tag, at: place).nearest(type), nearest.isFinite else {
            throw CBORFault(.floatRange, at: Int(place.offset))
        }
        return nearest
    }

    // MARK: Numbers of any size

    /// An integer, a bignum of up to 128 bits, or a decimal fraction (tag 4).
    func number(_ head: CBORHead, _ tag: UInt64?, at place: CBORPlace) throws(CBORFault) -> CBORNumber {
        guard head.major == .array else { return try whole(head, tag, at: place) }
        let (exponent, place) = try exponentAndSignificand(head, tag, at: place)
        let significand = try bytes.content(at: place)
        var number = try whole(significand.head, significand.tag, at: place)
        guard number.absolute != nil else { throw CBORFault(.decimalRange, at: Int(place.offset)) }
        number.exponent = exponent
        return number
    }

    /// An integer, or a bignum (RFC 8949, 3.4.3).
    private func whole(_ head: CBORHead, _ tag: UInt64?, at place: CBORPlace) throws(CBORFault) -> CBORNumber {
        if head.major == .unsigned || head.major == .negative {
            return CBORNumber(isNegative: head.major == .negative, argument: UInt128(head.argument))
        }
        guard tag == CBORTag.positiveBignum || tag == CBORTag.negativeBignum, head.major == .bytes else {
            throw .mismatch(head, at: place.offset)
        }
        var argument: UInt128 = 0
        for byte in try data(at: place) {
            guard argument >> 120 == 0 else { throw CBORFault(.bignumRange, at: Int(place.offset)) }
            argument = argument << 8 | UInt128(byte)
        }
        return CBORNumber(isNegative: tag == CBORTag.negativeBignum, argument: argument)
    }

    private func exponentAndSignificand(
        _ head: CBORHead, _ tag: UInt64?, at place: CBORPlace
    ) throws(CBORFault) -> (exponent: Int, significand: CBORPlace) {
        guard tag == CBORTag.decimalFraction else { throw .mismatch(head, at: place.offset) }
        guard head.isIndefinite || head.argument == 2 else { throw CBORFault(.decimalPair, at: Int(place.offset)) }
        let first = CBORPlace(offset: UInt32(truncatingIfNeeded: head.end), span: place.span &+ 1)
        // Offsets fit 31 bits. The array is not empty, so it has a span itself.
        let exponentHead = try bytes.content(at: first).head
        // RFC 8949, 3.4.4: of major type 0 or 1. Another decimal fraction here would let a payload nest calls. So the
        // head is not read again.
        guard exponentHead.major == .unsigned || exponentHead.major == .negative else {
            throw .mismatch(exponentHead, at: first.offset)
        }
        guard let magnitude = Int(exactly: exponentHead.argument) else {
            throw CBORFault(.integerRange, at: Int(first.offset))
        }
        let exponent = exponentHead.major == .unsigned ? magnitude : ~magnitude
        // −1 − n is the complement of n.
        let second = try skip(first)
        if head.isIndefinite, try !bytes.isStop(at: Int(try skip(second).offset)) {
            throw CBORFault(.decimalPair, at: Int(place.offset))
        }
        return (exponent, second)
    }
}

/// A number of any size as CBOR writes it: the argument, or −1 − argument, times ten to the exponent.
struct CBORNumber {
    var isNegative: Bool
    var argument: UInt128
    /// 0 unless the number is a decimal fraction.
    var exponent = 0

    /// Without the exponent. `nil`: 2¹²⁸, which no decimal fraction here has.
    var absolute: UInt128? {
        let (next, overflow) = argument.addingReportingOverflow(isNegative ? 1 : 0)
        return overflow ? nil : next
    }

    /// `nil`: the number is not whole, or the type does not have it.
    func integer<I: FixedWidthInteger>(_ type: I.Type) -> I? {
        guard var value = absolute else { return nil }
        if value == 0 { return 0 }
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
        if !isNegative { return I(exactly: value) }
        return Int128(exactly: value - 1).flatMap { I(exactly: ~$0) }
        // Not below 0: a number that is not 0 stays so.
    }

    /// `nil`: out of the type's range. An infinity may be, too.
    func nearest<F: BinaryFloatingPoint & LosslessStringConvertible>(_ type: F.Type) -> F? {
        guard let absolute else { return -F(sign: .plus, exponent: 128, significand: 1) }
        if exponent == 0 || absolute == 0 { return isNegative ? -F(absolute) : F(absolute) }
        // By way of the text, which is rounded once. Every number beyond these exponents is out of range.
        guard (-10_000...10_000).contains(exponent), let value = F("\(absolute)e\(exponent)"), !value.isZero else {
            return nil
        }
        return isNegative ? -value : value
    }
}
