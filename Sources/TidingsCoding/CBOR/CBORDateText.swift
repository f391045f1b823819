import FoundationEssentials

/// The text form of a date (tag 0): RFC 3339 as RFC 8949, 3.4.1, wants it, `2013-03-21T20:04:00.5+01:00`.
///
/// By hand for two reasons: Foundation's ISO 8601 style takes a fraction either always or never, and it rounds to
/// milliseconds. A fraction here has as many digits as it needs: every date of the years 0 to 9999 comes back exactly.
enum CBORDateText {
    /// The nearest date to the text. `nil`: the text is not in this form.
    static func parse(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { parse(ByteCursor(UnsafeRawBufferPointer($0))) }
    }

    private static func parse(_ text: ByteCursor) -> Date? {
        var text = text
        guard let year = text.number(4), text.take("-"),
            let month = text.number(2), text.take("-"),
            let day = text.number(2), text.take("T") || text.take("t"),
            let hour = text.number(2), text.take(":"),
            let minute = text.number(2), text.take(":"),
            let second = text.number(2),
            let fraction = text.fraction(),
            let offset = text.offsetFromUTC(),
            text.isAtEnd,
            (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year),
            // 60 is a leap second, which counts as the first of the next minute.
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let seconds = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
        return Date(timeIntervalSinceReferenceDate: number(seconds - reference, fraction))
    }

    /// The shortest text that `parse` makes this date of. `nil`: the date is no finite one of the years 0 to 9999.
    static func format(_ date: Date) -> String? {
        let number = date.timeIntervalSinceReferenceDate
        // Within 10,000 years of the reference date, so that nothing overflows below.
        guard abs(number) < 10_000 * 366 * 86400 else { return nil }
        var (seconds, fraction) = decimal(abs(number))
        if number < 0 {
            // −1.25 is 0.75 behind −2.
            seconds = fraction.isEmpty ? -seconds : -seconds - 1
            fraction = complement(fraction)
        }
        seconds += reference
        let day = seconds.quotient(86400)
        let second = seconds - day * 86400
        // Not behind it: no year has fewer than 365 days, nor more than 366.
        var year = 1970 + day.quotient(day < 0 ? 365 : 366)
        while days(year + 1, 1, 1) <= day { year += 1 }
        guard (0...9999).contains(year) else { return nil }
        var month = 12
        while days(year, month, 1) > day { month -= 1 }
        let parts = [month, day - days(year, month, 1) + 1, second / 3600, second / 60 % 60, second % 60]
        let two = parts.map { $0 < 10 ? "0\($0)" : "\($0)" }
        let four = String(repeating: "0", count: 4 - "\(year)".count) + "\(year)"
        let behind = fraction.isEmpty ? "" : "." + String(decoding: fraction.map { $0 + 0x30 }, as: UTF8.self)
        return "\(four)-\(two[0])-\(two[1])T\(two[2]):\(two[3]):\(two[4])\(behind)Z"
    }

    /// From 1970-01-01 to 2001-01-01, in seconds: `Date` stores seconds since the latter.
    private static let reference = Int(Date.timeIntervalBetween1970AndReferenceDate)

    /// The number nearest to a whole number and the digits behind it. The digits point to the future, also where the
    /// whole number is negative.
    private static func number(_ whole: Int, _ fraction: [UInt8]) -> Double {
        if fraction.isEmpty { return Double(whole) }
        let isNegative = whole < 0
        let digits = isNegative ? complement(fraction) : fraction
        let text = "\(isNegative ? -1 - whole : whole)." + String(decoding: digits.map { $0 + 0x30 }, as: UTF8.self)
        // The standard library rounds correctly, and such a text is a number: never `nil`.
        let magnitude = Double(text) ?? 0
        return isNegative ? -magnitude : magnitude
    }

    /// The digits of 1 − 0.d₁d₂d₃…; the last of them is not 0.
    private static func complement(_ digits: [UInt8]) -> [UInt8] {
        guard let last = digits.last else { return [] }
        return digits.dropLast().map { 9 - $0 } + [10 - last]
    }

    /// A number's whole part, and the digits behind it without zeros at the end. 0 ≤ `number` < 2⁵³.
    private static func decimal(_ number: Double) -> (whole: Int, fraction: [UInt8]) {
        // The shortest that is this number and no other: 12.5, 0.001, 5e-324.
        let parts = number.description.utf8.split(separator: UInt8(ascii: "e"))
        let exponent = parts.count > 1 ? Int(String(parts[1]) ?? "") ?? 0 : 0
        let halves = parts[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        var digits = halves.joined().map { $0 - 0x30 }
        var point = halves[0].count + exponent
        if point < 0 { digits.insert(contentsOf: repeatElement(0, count: -point), at: 0) }
        point = max(point, 0)
        if point > digits.count { digits += repeatElement(0, count: point - digits.count) }
        let whole = digits[..<point].reduce(0) { $0 * 10 + Int($1) }
        var fraction = Array(digits[point...])
        while fraction.last == 0 { fraction.removeLast() }
        return (whole, fraction)
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func length(ofMonth month: Int, _ year: Int) -> Int {
        if month == 2 { return isLeap(year) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Days from 1970-01-01 in the Gregorian calendar, continued into the past as RFC 3339 does.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let before = year - 1
        var days = before * 365 + before.quotient(4) - before.quotient(100) + before.quotient(400) + day - 1
        for earlier in 1..<month { days += length(ofMonth: earlier, year) }
        // From 0001-01-01 to 1970-01-01.
        return days - 719_162
    }
}

extension ByteCursor {
    /// A number of so many decimal digits.
    fileprivate mutating func number(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let digit = take(), 0x30...0x39 ~= digit else { return nil }
            value = value * 10 + Int(digit) - 0x30
        }
        return value
    }

    /// The digits behind the point, without zeros at the end; nil if there is a point alone.
    fileprivate mutating func fraction() -> [UInt8]? {
        guard take(".") else { return [] }
        let range = takeDigits()
        if range.isEmpty { return nil }
        // No two numbers need more digits to be told apart. Of those that follow it counts whether one is not 0.
        var digits = bytes.slice(range).prefix(1100).map { $0 - 0x30 }
        if bytes.slice(range).dropFirst(1100).contains(where: { $0 != 0x30 }) { digits.append(1) }
        while digits.last == 0 { digits.removeLast() }
        return digits
    }

    /// Seconds ahead of UTC.
    fileprivate mutating func offsetFromUTC() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -60 : 60)
    }
}

extension Int {
    /// The quotient rounded down, which year 0 needs.
    fileprivate func quotient(_ divisor: Int) -> Int {
        self >= 0 ? self / divisor : -((divisor - 1 - self) / divisor)
    }
}

extension Date {
    /// Seconds since 1970. `nil`: no finite double has them exactly. `Date` stores seconds since 2001.
    @inline(__always)
    var exactSecondsSince1970: Double? {
        let seconds = timeIntervalSince1970
        let back = Date(timeIntervalSince1970: seconds).timeIntervalSinceReferenceDate
        guard back.bitPattern == timeIntervalSinceReferenceDate.bitPattern, seconds.isFinite else { return nil }
        return seconds
    }
}
