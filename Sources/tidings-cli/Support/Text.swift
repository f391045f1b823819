// Text for a terminal: escapes, columns, numbers and amounts of memory.
import Foundation
import Tidings

extension String {
    /// The text, with each character that could control a terminal or look like another line written as a JSON escape.
    ///
    /// Names come from other processes. A JSON text keeps its meaning, because such characters occur only in its
    /// strings.
    var printable: String {
        // Most texts are ASCII. Their bytes are checked faster than their characters.
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return self }
        guard unicodeScalars.contains(where: \.steersTerminals) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            if scalar.steersTerminals {
                // All these characters are in the basic multilingual plane, so one escape is enough.
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The text as a JSON string.
    var jsonString: String { Center.RawPayload.text(self).json.printable }

    /// The text, padded with spaces at the end to that many characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text, padded with spaces at the beginning to that many characters.
    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}

extension Unicode.Scalar {
    fileprivate var steersTerminals: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0: true  // C0 and C1 control characters; C1 also has a start of escape sequences
        case 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true  // line ends and changes of direction
        default: false
        }
    }
}

extension BinaryInteger {
    /// The number with commas between groups of three digits: 12,345.
    var grouped: String {
        let digits = String(magnitude)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { result.append(",") }
            result.append(digit)
        }
        return (self < 0 ? "-" : "") + result
    }

    /// The number as an amount of memory: 1.6 MiB.
    var asBytes: String {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
        var amount = Double(self)
        var unit = 0
        while amount >= 1024, unit < units.count - 1 {
            amount /= 1024
            unit += 1
        }
        return unit == 0 ? "\(self) bytes" : String(format: "%.1f %@", amount, units[unit])
    }
}

/// A count and its noun: "1 name", "2 names".
func counted(_ count: Int, _ one: String, _ many: String? = nil) -> String {
    "\(count.grouped) \(count == 1 ? one : many ?? one + "s")"
}
