#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The text form of a date (tag 0): RFC 3339 as RFC 8949, 3.4.1, wants it, `2013-03-21T20:04:00.5+01:00`.
///
/// By hand, because Foundation's ISO 8601 style takes a fraction either always or never, and because the text comes
/// from strangers.
enum CBORDateText {
    static func parse(_ text: String) -> Date? {
        var scanner = Scanner(rest: text.utf8[...])
        guard let year = scanner.digits(4), scanner.take("-"),
            let month = scanner.digits(2), scanner.take("-"),
            let day = scanner.digits(2), scanner.take("T") || scanner.take("t"),
            let hour = scanner.digits(2), scanner.take(":"),
            let minute = scanner.digits(2), scanner.take(":"),
            let second = scanner.digits(2),
            let fraction = scanner.fraction(),
            let offset = scanner.offset(),
            scanner.rest.isEmpty,
            (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year),
            // 60 is a leap second, which counts as the first of the next minute.
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let seconds = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    private static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

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

    private struct Scanner {
        var rest: Substring.UTF8View

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard let first = rest.first, UInt32(first) == character.value else { return false }
            rest.removeFirst()
            return true
        }

        mutating func digit() -> Int? {
            guard let first = rest.first, (0x30...0x39).contains(first) else { return nil }
            rest.removeFirst()
            return Int(first) - 0x30
        }

        mutating func digits(_ count: Int) -> Int? {
            var value = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        /// 0 if there is none, nil if there is a point alone.
        mutating func fraction() -> Double? {
            guard take(".") else { return 0 }
            guard let first = digit() else { return nil }
            var value = Double(first) / 10
            var unit = 0.01
            while let digit = digit() {
                value += Double(digit) * unit
                unit /= 10
            }
            return value
        }

        /// Seconds ahead of UTC.
        mutating func offset() -> Int? {
            if take("Z") || take("z") { return 0 }
            let isWest = take("-")
            guard isWest || take("+"), let hours = digits(2), take(":"), let minutes = digits(2),
                hours < 24, minutes < 60
            else { return nil }
            return (hours * 60 + minutes) * (isWest ? -60 : 60)
        }
    }
}

extension Int {
    /// The quotient rounded down, which year 0 needs.
    fileprivate func quotient(_ divisor: Int) -> Int {
        self >= 0 ? self / divisor : -((divisor - 1 - self) / divisor)
    }
}
