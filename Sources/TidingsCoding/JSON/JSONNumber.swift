/// A number as RFC 8259 has it, in the parts that it is written in.
package struct JSONNumber {
    private let bytes: PayloadBytes
    private let isNegative: Bool
    private let whole: Range<Int>
    private let fraction: Range<Int>
    private let exponent: Int

    /// `nil` if the bytes are no number. They must stay valid and unchanged as long as the number is used.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        var cursor = ByteCursor(bytes)
        self.bytes = cursor.bytes
        isNegative = cursor.take("-")
        whole = cursor.takeDigits()
        guard whole.count == 1 || (!whole.isEmpty && bytes[whole.lowerBound] != UInt8(ascii: "0")) else { return nil }
        let hasPoint = cursor.take(".")
        fraction = hasPoint ? cursor.takeDigits() : whole.upperBound..<whole.upperBound
        if hasPoint && fraction.isEmpty { return nil }
        var exponent = 0
        if cursor.take("e") || cursor.take("E") {
            let isSmall = cursor.take("-")
            if !isSmall { _ = cursor.take("+") }
            let digits = cursor.takeDigits()
            if digits.isEmpty { return nil }
            // Beyond `Int`: more than any number of digits in a payload makes up for.
            exponent = Int(String(decoding: bytes[digits], as: UTF8.self)) ?? .max / 2
            if isSmall { exponent = -exponent }
        }
        self.exponent = exponent
        guard cursor.isAtEnd else { return nil }
    }

    private var digits: [UInt8] { Array(bytes.slice(whole)) + bytes.slice(fraction) }

    /// Exactly, not by way of a double. `nil` if the number is not whole, or does not fit.
    package var integer: Int? {
        let zero = UInt8(ascii: "0")
        var digits = digits.drop { $0 == zero }
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

    /// The nearest. `nil` if that is an infinity, or 0 for another number.
    package var double: Double? {
        guard let double = Double(String(decoding: bytes.all, as: UTF8.self)), double.isFinite else { return nil }
        let isZero = digits.allSatisfy { $0 == UInt8(ascii: "0") }
        return double.isZero && !isZero ? nil : double
    }
}
