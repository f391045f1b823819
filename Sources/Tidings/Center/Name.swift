extension SharedNotificationCenter {
    /// The name of a kind of notification: 1 to 255 bytes of UTF-8 without NUL, by custom in reverse domain notation.
    ///
    /// Any string makes a `Name`; whether it is a valid one is checked where it is first used
    /// (``SharedNotificationError/Code-swift.enum/invalidName``). Names are compared byte by byte by the center.
    public struct Name: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        public init(stringLiteral value: String) {
            rawValue = value
        }

        public var description: String { rawValue }
    }
}
