import Foundation

/// A line of the screen: texts with styles. Its texts have no control characters.
struct TopLine: Equatable {
    enum Style {
        case plain, bold, dim, reverse, warning, alarm

        /// The parameters of SGR; without colours, those that each terminal has.
        fileprivate func code(colours: Bool) -> String {
            switch self {
            case .plain: "0"
            case .bold: "0;1"
            case .dim: colours ? "0;2" : "0"
            case .reverse: "0;7"
            case .warning: colours ? "0;33" : "0;1"
            case .alarm: colours ? "0;1;31" : "0;1"
            }
        }
    }

    struct Part: Equatable {
        var text: String
        var style: Style
    }

    private(set) var parts: [Part] = []
    private(set) var width = 0
    /// How many columns it has at most.
    let limit: Int

    init(limit: Int) {
        self.limit = max(0, limit)
    }

    /// Appends what fits of a text, and makes it printable.
    mutating func append(_ text: String, _ style: Style = .plain) {
        let part = text.printable.clipped(to: limit - width)
        guard !part.isEmpty else { return }
        width += part.columns
        parts.append(Part(text: part, style: style))
    }

    /// Appends spaces up to that column.
    mutating func pad(to column: Int, _ style: Style = .plain) {
        append(String(repeating: " ", count: max(0, min(column, limit) - width)), style)
    }

    var plain: String { parts.map(\.text).joined() }

    /// The line with its styles, for a terminal. It ends in the plain style.
    func escaped(colours: Bool) -> String {
        var (result, last) = ("", Style.plain)
        for part in parts {
            if part.style != last { result += "\u{1B}[\(part.style.code(colours: colours))m" }
            result += part.text
            last = part.style
        }
        return last == .plain ? result : result + "\u{1B}[0m"
    }
}

extension String {
    /// How many columns of a terminal the text takes.
    var columns: Int { unicodeScalars.reduce(0) { $0 + $1.columns } }

    /// The text, or its beginning and "…" if it has more columns.
    func clipped(to limit: Int) -> String {
        #if MUTANT_TOP_COLUMN_TOO_MANY  // Found by: command fitsInEachSize
            if isMutant("TOP_COLUMN_TOO_MANY"), limit > 0, columns == limit + 1 { return self }
        #endif
        guard columns > limit else { return self }
        guard limit > 0 else { return "" }
        var (result, width) = ("", 0)
        for scalar in unicodeScalars {
            width += scalar.columns
            if width > limit - 1 { break }
            result.unicodeScalars.append(scalar)
        }
        return result + "…"
    }
}

extension Unicode.Scalar {
    /// How many columns of a terminal the character takes: 0 if it combines with the one before, 2 if it is wide
    /// (Unicode Standard Annex 11).
    ///
    /// Terminals differ for sequences of emoji. A line that a terminal shows longer is cut at the edge.
    fileprivate var columns: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
            return 2
        default: return properties.isEmojiPresentation ? 2 : 1
        }
    }
}
