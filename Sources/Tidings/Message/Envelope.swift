#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

extension SharedNotificationCenter {
    /// What is known about a notification besides its payload.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self) { change, envelope in
    ///     print("#\(envelope.sequence) \(change.title), \(envelope.subject ?? "no subject"), from \(envelope.poster.pid) at \(envelope.postedAt)")
    /// }
    /// ```
    public struct Envelope: Hashable, Sendable {
        /// Its place in the center's one order. Grows from one notification to the next; not every number is used.
        public var sequence: UInt64
        /// The center's ``SharedNotificationCenter/incarnation``: which center's order that is a place in.
        public var incarnation: UInt64
        /// When it was posted, in nanoseconds since 1970, by the poster's real-time clock: exact for a thread's first post in a kernel tick (1 to
        /// 4 ms), that same time for its others in the tick.
        public var postedAtNanoseconds: UInt64
        /// Who posted it.
        public var poster: Poster
        /// Whom or what it is about; `nil`: it was posted without a subject.
        public var subject: String?
        /// Whether it was posted before the observer registered, and kept for it.
        public var isRetained: Bool
        /// Whether it was posted through this very center object (this process, this ``SharedNotificationCenter``).
        public var isOwn: Bool
        /// Whether it says that the value kept for its name was cleared: then it has no payload. Observers of a type, or of a key, don't get those.
        public var isCleared: Bool

        /// The same as ``postedAtNanoseconds``, rounded to about 0.2 µs.
        public var postedAt: Date {
            Date(timeIntervalSince1970: Double(postedAtNanoseconds) / 1e9)
        }
    }

    /// Who posted a notification, as it says itself: who may write to a center can say anything.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: nil, object: nil) { notification in
    ///     let poster = notification.envelope.poster
    ///     print("\(notification.name) from \(poster.executable ?? "somebody") (\(poster.pid)), user \(poster.uid)")
    /// }
    /// ```
    public struct Poster: Hashable, Sendable {
        /// Its process, in its own pid namespace.
        public var pid: Int32
        /// The number of its user.
        public var uid: UInt32
        /// The name of its executable, at most 79 bytes; `nil` if it was gone before anybody here asked.
        public var executable: String?
    }
}
