// The name of a kind of notification, and the comparison of texts by their bytes.
import Glibc

extension SharedNotificationCenter {
    /// The name of a kind of notification: 1 to 255 bytes of UTF-8 without NUL, by custom in reverse domain notation.
    ///
    /// ```swift
    /// extension SharedNotificationCenter.Name {
    ///     static let changed: Self = "com.example.changed"
    /// }
    /// try SharedNotificationCenter.default.post(name: .changed)
    /// ```
    ///
    /// Any string makes a `Name`. Its first use checks whether it is valid
    /// (``SharedNotificationError/Code-swift.struct/invalidName``). The center compares names byte by byte.
    public struct Name: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The text. Two names are equal if their bytes are equal.
        public var rawValue: String

        /// A name of that text. Its first use checks that it has 1 to 255 bytes of UTF-8.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A name of that text.
        public init(_ rawValue: String) { self.rawValue = rawValue }

        /// The pattern for all names with a prefix, for fields that hold a name.
        package init(beginningWith prefix: String) { rawValue = prefix + "*" }

        /// A name written as a literal.
        public init(stringLiteral value: String) { rawValue = value }

        /// Whether the bytes of both texts are equal.
        public static func == (one: Name, other: Name) -> Bool { ByteText(one.rawValue) == ByteText(other.rawValue) }

        /// Hashes the text's bytes.
        public func hash(into hasher: inout Hasher) { ByteText(rawValue).hash(into: &hasher) }

        /// The text.
        public var description: String { rawValue }
    }
}

/// A text that is compared by its bytes, as the center compares names and subjects. Swift strings are equal if they are
/// canonically equivalent in Unicode.
struct ByteText: Hashable, Sendable {
    private var text: String

    init(_ text: String) { self.text = text }

    static func == (one: ByteText, other: ByteText) -> Bool {
        var (one, other) = (one.text, other.text)
        return one.withUTF8 { one in
            other.withUTF8 {
                one.count == $0.count && (one.isEmpty || memcmp(one.baseAddress!, $0.baseAddress!, one.count) == 0)
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A terminator, so that the bytes of two consecutive texts can't be confused.
        hasher.combine(0xff as UInt8)
    }
}
