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
    /// Any string makes a `Name`; whether it is a valid one is checked where it is first used
    /// (``SharedNotificationError/Code-swift.enum/invalidName``). Names are compared byte by byte by the center.
    public struct Name: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The text. Names are equal if its bytes are.
        public var rawValue: String

        /// A name of that text. Whether it is one that can be used, 1 to 255 bytes of UTF-8, shows when it is.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A name of that text.
        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// A name written as a literal.
        public init(stringLiteral value: String) {
            rawValue = value
        }

        /// Whether the bytes of their texts are the same.
        public static func == (one: Name, other: Name) -> Bool {
            ByteText(one.rawValue) == ByteText(other.rawValue)
        }

        /// Of the text's bytes.
        public func hash(into hasher: inout Hasher) {
            ByteText(rawValue).hash(into: &hasher)
        }

        /// The text.
        public var description: String { rawValue }
    }
}

/// A text that equals another if its bytes do, as names and subjects do for the center: strings are equal if Unicode holds them for equal.
struct ByteText: Hashable, Sendable {
    private var text: String

    init(_ text: String) {
        self.text = text
    }

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
        // So that two in a row don't mix.
        hasher.combine(0xff as UInt8)
    }
}
