extension SharedNotificationCenter {
    /// How a notification is posted. Every function that posts takes these options.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let options = SharedNotificationCenter.PostOptions(subject: "player-1", timeout: .seconds(1))
    /// try center.post(TrackChanged(title: "So What"), options: options)
    /// ```
    @frozen
    public struct PostOptions: Hashable, Sendable {
        /// What the notification is about, 1 to 255 bytes of UTF-8; `nil`: nothing. Observers can ask for one subject
        /// only.
        public var subject: String?
        /// How long a lossless observer may hold this post back. `nil`: not at all, the post then fails with `.full`.
        /// The post blocks its thread meanwhile; a task calls
        /// ``SharedNotificationCenter/waitingForRoom(timeout:isolation:_:)`` instead.
        public var timeout: Duration?
        // The other options, in one property: the optimizer keeps a structure of few properties in registers. It copies
        // a larger one by calls. Bit 0: retained, 1: delivers immediately.
        @usableFromInline var bits: UInt8

        /// Keeps the notification for observers that register later, until the next retained one of the same name. A
        /// name has one value, without a subject: `.invalidArgument` with both.
        @inlinable public var isRetained: Bool {
            get { bits & 1 != 0 }
            set { bits = bits & ~1 | (newValue ? 1 : 0) }
        }

        /// Also delivered to observers of suspended center objects, after the notifications that were held back for
        /// them. Takes a chunk, as a large payload does.
        @inlinable public var deliversImmediately: Bool {
            get { bits & 2 != 0 }
            set { bits = bits & ~2 | (newValue ? 2 : 0) }
        }

        /// Creates options, each as the property that it sets says. Every argument may be left out.
        @inlinable
        public init(
            subject: String? = nil, retain: Bool = false, timeout: Duration? = nil, deliverImmediately: Bool = false
        ) {
            self.subject = subject
            self.timeout = timeout
            bits = (retain ? 1 : 0) | (deliverImmediately ? 2 : 0)
        }

        /// What the C library is told, without the subject, which selects the publisher.
        @inlinable
        var flags: PostFlags { PostFlags(timeout: timeout, bits: bits) }
    }

    /// The options of a post without a reference, so that passing them on costs nothing.
    @frozen
    @usableFromInline
    struct PostFlags {
        @usableFromInline var timeout: Duration?
        @usableFromInline var bits: UInt8

        @inlinable
        init(timeout: Duration?, bits: UInt8) {
            self.timeout = timeout
            self.bits = bits
        }

        init(isRetained: Bool = false, timeout: Duration? = nil) {
            self.init(timeout: timeout, bits: isRetained ? 1 : 0)
        }
    }
}
