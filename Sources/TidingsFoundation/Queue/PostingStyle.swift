// When a post is posted, and which waiting posts it replaces, as in `NotificationQueue`.
public import Tidings

extension SharedNotificationCenter {
    /// When a notification is posted: at once, soon, or when no further posts have come for a while.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// // the caller goes on, another thread posts
    /// try center.enqueue(name: "com.example.changed", postingStyle: .asap)
    /// // replaces the one above, if that still waits
    /// try center.enqueue(name: "com.example.changed", postingStyle: .whenIdle)
    /// ```
    public enum PostingStyle: Hashable, Sendable {
        /// Posted before the call returns.
        case now
        /// Posted by another thread of this process as soon as possible: the caller pays for the encoding, not for the
        /// post.
        case asap
        /// Posted when no post has been deferred for 10 ms, and after 100 ms at the latest.
        case whenIdle

        var style: DeferredPosts.Style {
            switch self {
            case .now: .now
            case .asap: .asap
            case .whenIdle: .whenIdle
            }
        }
    }

    /// Which waiting posts a new post replaces: those that are equal to it in all of these properties, and are retained
    /// and delivered immediately as it is. `[]`: none.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Int }
    /// let center = try SharedNotificationCenter.default
    /// for id in 1...3 {       // only the third
    ///     try center.enqueue(
    ///         Moved(x: id), postingStyle: .whenIdle, coalescing: .name, options: .init(subject: "\(id)"))
    /// }
    /// for id in 1...3 {       // all three
    ///     try center.enqueue(Moved(x: id), postingStyle: .whenIdle, coalescing: [], options: .init(subject: "\(id)"))
    /// }
    /// ```
    public struct Coalescing: OptionSet, Hashable, Sendable {
        /// The properties as bits.
        public let rawValue: Int

        /// The properties that these bits stand for. Only the lowest 2 bits are used.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The name is the same.
        public static let name = Coalescing(rawValue: 1)
        /// The subject (object) is the same, or both posts have none.
        public static let subject = Coalescing(rawValue: 2)

        var coalescing: DeferredPosts.Coalescing { .init(rawValue: rawValue & 3) }
    }
}
