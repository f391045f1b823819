// The options of a post, as one value, and the styles of posting later.
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
        /// A post that is posted later has no timeout. The post blocks its thread meanwhile; a task calls
        /// ``SharedNotificationCenter/waitingForRoom(timeout:isolation:_:)`` instead.
        public var timeout: Duration?
        // The other options, in one property: the optimizer keeps a structure of few properties in registers. It copies
        // a larger one by calls. Bit 0: retained, 1: delivers immediately, 2 and 3: the style, from 8 on: coalescing.
        @usableFromInline var bits: UInt16

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

        /// When the notification is posted; `nil`: before the call returns.
        ///
        /// A notification that is posted later is encoded before the call returns. Waiting posts are posted in the
        /// order of the calls, `asap` before `whenIdle`, also after the center object is released. A post replaces the
        /// waiting posts that are equal to it (``coalescing``), and goes to the end of the queue. `.now` also removes
        /// them. If one of them is being posted at this moment, the call waits until that post has ended. Setting or
        /// clearing a state does not remove waiting posts: a retained one is posted afterwards, and replaces it. If the
        /// process ends, waiting posts are lost: see ``SharedNotificationCenter/postPending()``. In a forked child,
        /// each call posts at once. If a waiting post fails, ``SharedNotificationCenter/onDiagnostic`` receives
        /// ``SharedNotificationCenter/Diagnostic/postFailed(_:_:)``.
        @inlinable public var postingStyle: PostingStyle? {
            get {
                switch bits >> 2 & 3 {
                case 0: nil
                case 1: .now
                case 2: .asap
                default: .whenIdle
                }
            }
            set { bits = bits & ~12 | Self.bits(of: newValue) }
        }

        /// Which waiting posts this one replaces: those that match in all of these properties, and are retained and
        /// delivered immediately as this one is. `[]`: none.
        @inlinable public var coalescing: Coalescing {
            get { Coalescing(rawValue: Int(bits >> 8)) }
            set { bits = bits & 0xFF | UInt16(newValue.rawValue & 0xFF) << 8 }
        }

        /// Creates options. Every argument may be left out.
        ///
        /// - Parameters:
        ///   - subject: ``subject``
        ///   - retain: ``isRetained``
        ///   - timeout: ``timeout``
        ///   - deliverImmediately: ``deliversImmediately``
        ///   - postingStyle: ``postingStyle``
        ///   - coalescing: ``coalescing``
        @inlinable
        public init(
            subject: String? = nil, retain: Bool = false, timeout: Duration? = nil, deliverImmediately: Bool = false,
            postingStyle: PostingStyle? = nil, coalescing: Coalescing = .all
        ) {
            self.subject = subject
            self.timeout = timeout
            bits =
                (retain ? 1 : 0) | (deliverImmediately ? 2 : 0) | Self.bits(of: postingStyle)
                | UInt16(coalescing.rawValue & 0xFF) << 8
        }

        @inlinable
        static func bits(of style: PostingStyle?) -> UInt16 {
            switch style {
            case nil: 0
            case .now: 4
            case .asap: 8
            case .whenIdle: 12
            }
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
        @usableFromInline var bits: UInt16

        @inlinable
        init(timeout: Duration?, bits: UInt16) {
            self.timeout = timeout
            self.bits = bits
        }

        init(isRetained: Bool = false, timeout: Duration? = nil) {
            self.init(timeout: timeout, bits: isRetained ? 1 : 0)
        }
    }

    /// When a notification is posted: at once, soon, or when no further posts have come for a while.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// // the caller goes on, another thread posts
    /// try center.post(name: "com.example.changed", options: .init(postingStyle: .asap))
    /// // replaces the one above, if that still waits
    /// try center.post(name: "com.example.changed", options: .init(postingStyle: .whenIdle))
    /// ```
    @frozen
    public enum PostingStyle: Hashable, Sendable {
        /// Posted before the call returns.
        case now
        /// Posted by another thread of this process as soon as possible: the caller pays for the encoding, not for the
        /// post.
        case asap
        /// Posted when no post has been deferred for 10 ms, and after 100 ms at the latest.
        case whenIdle
    }

    /// Which waiting posts a new post replaces: those that are equal to it in all of these properties.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Int }
    /// let center = try SharedNotificationCenter.default
    /// for id in 1...3 {       // only the third
    ///     let options = SharedNotificationCenter.PostOptions(
    ///         subject: "\(id)", postingStyle: .whenIdle, coalescing: .name)
    ///     try center.post(Moved(x: id), options: options)
    /// }
    /// for id in 1...3 {       // all three
    ///     try center.post(Moved(x: id), options: .init(subject: "\(id)", postingStyle: .whenIdle, coalescing: []))
    /// }
    /// ```
    @frozen
    public struct Coalescing: OptionSet, Hashable, Sendable {
        /// The properties as bits.
        public let rawValue: Int

        /// The properties that these bits stand for. Only the lowest 8 bits are used.
        @inlinable
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The name is the same.
        public static let name = Coalescing(rawValue: 1)
        /// The subject (object) is the same, or both posts have none.
        public static let subject = Coalescing(rawValue: 2)
        /// The name and the subject are the same. Not a list of the two: every post would build it.
        @inlinable public static var all: Coalescing { Coalescing(rawValue: 3) }
    }

    /// Posts all waiting posts of this center object before it returns, for example before the process ends.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", options: .init(postingStyle: .whenIdle))
    /// center.postPending()
    /// exit(0)
    /// ```
    ///
    /// Promise: may be called from any thread. If another thread is posting waiting posts, those have also been posted
    /// when this returns. ``onDiagnostic`` receives each failure (``Diagnostic/postFailed(_:_:)``). If that closure
    /// calls this during a waiting post, this returns at once, and the remaining posts follow after the closure
    /// returns. In a forked child no posts wait, and this does nothing.
    public func postPending() {
        deferred.drain(all: true)
    }
}
