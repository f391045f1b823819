extension SharedNotificationCenter {
    /// The name of a kind of notification: 1 to 255 bytes of UTF-8 without NUL, by custom in reverse domain notation.
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

        /// The text.
        public var description: String { rawValue }
    }
}
