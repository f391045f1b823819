#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

extension SharedNotificationCenter {
    /// What is known about a notification besides its payload.
    public struct Envelope: Hashable, Sendable {
        /// Its place in the center's one order. Grows from one notification to the next; not every number is used.
        public var sequence: UInt64
        /// When it was posted, in nanoseconds since 1970, by the poster's real-time clock.
        public var postedAtNanoseconds: UInt64
        /// Who posted it.
        public var poster: Poster
        /// Whom or what it is about.
        public var subject: String?
        /// It was posted before the observer registered, and kept for it.
        public var isRetained: Bool
        /// It was posted through this very center object's participant (this process, this ``SharedNotificationCenter``).
        public var isOwn: Bool

        /// When it was posted, by the poster's real-time clock; good to about 0.2 µs.
        public var postedAt: Date {
            Date(timeIntervalSince1970: Double(postedAtNanoseconds) / 1e9)
        }
    }

    /// Who posted a notification, as it says itself.
    public struct Poster: Hashable, Sendable {
        /// Its process, in its own pid namespace.
        public var pid: Int32
        /// Its user.
        public var uid: UInt32
        /// The name of its executable, at most 79 bytes; `nil` if it was gone before anybody here asked.
        public var executable: String?
    }
}
