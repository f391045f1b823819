// Posting later: the posting styles, coalescing, and the posts that take them.
extension SharedNotificationCenter {
    /// When a notification is posted: at once, soon, or when no further posts have come for a while.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// // the caller goes on, another thread posts
    /// try center.post(name: "com.example.changed", postingStyle: .asap)
    /// // replaces the one above, if that still waits
    /// try center.post(name: "com.example.changed", postingStyle: .whenIdle)
    /// ```
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
    ///     try center.post(Moved(x: id), subject: "\(id)", postingStyle: .whenIdle, coalescing: .name)
    /// }
    /// for id in 1...3 {       // all three
    ///     try center.post(Moved(x: id), subject: "\(id)", postingStyle: .whenIdle, coalescing: [])
    /// }
    /// ```
    public struct Coalescing: OptionSet, Hashable, Sendable {
        /// The properties as bits.
        public let rawValue: Int

        /// The properties that these bits stand for.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The name is the same.
        public static let name = Coalescing(rawValue: 1)
        /// The subject (object) is the same, or both posts have none.
        public static let subject = Coalescing(rawValue: 2)
    }

    /// Posts a message later, and replaces equal posts that still wait, as `NotificationQueue` does.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Int }
    /// let center = try SharedNotificationCenter.default
    /// // observers receive few of them, and the last one
    /// for x in 0..<1000 { try center.post(Moved(x: x), postingStyle: .whenIdle) }
    /// center.postPending()
    /// ```
    ///
    /// Promise: waiting posts are posted in the order of these calls, `asap` before `whenIdle`. A new post removes the
    /// waiting posts that it replaces, and goes to the end of the queue. Waiting posts are posted even after the center
    /// object is released. If the process ends, waiting posts are lost: see ``postPending()``. In a forked child, each
    /// call posts at once.
    ///
    /// - Parameters:
    ///   - message: encoded before this returns, posted later.
    ///   - subject: what the message is about, 1 to 255 bytes of UTF-8.
    ///   - style: when to post. `.now` also removes the waiting posts that match. If a matching post is being posted at
    ///     this moment, this waits until that post has ended.
    ///   - coalescing: which waiting posts this one replaces: those that match in all of it. `[]`: none.
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`; with `.now`, and in a forked child, also
    ///   `.invalidName`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`, `.notPermitted`. If a deferred post
    ///   fails, ``onDiagnostic`` receives ``Diagnostic/postFailed(_:_:)``.
    public func post<M: Message>(
        _ message: M, subject: String? = nil, postingStyle style: PostingStyle,
        coalescing: Coalescing = [.name, .subject]
    ) throws(SharedNotificationError) {
        try deferred.post(
            DeferredPosts.Pending(
                name: M.name, subject: subject, payload: try core.payload(of: message), type: M.self), style: style,
            coalescing: coalescing)
    }

    /// Posts a name with an object and a dictionary later, and replaces equal posts that still wait.
    ///
    /// Otherwise as for a message (``post(_:subject:postingStyle:coalescing:)``).
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let (object, info): (String, SharedNotificationCenter.UserInfo) = ("player-1", ["volume": 0.5])
    /// try center.post(name: "com.example.changed", object: object, userInfo: info, postingStyle: .whenIdle)
    /// center.postPending()
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.encodingFailed` (nested too deep); with `.now`, and in a forked child,
    ///   also `.invalidName`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`, `.notPermitted`.
    public func post(
        name: Name, object: String? = nil, userInfo: UserInfo? = nil, postingStyle style: PostingStyle,
        coalescing: Coalescing = [.name, .subject]
    ) throws(SharedNotificationError) {
        let payload = try userInfo.map { (userInfo) throws(SharedNotificationError) in
            try core.payload(of: userInfo, name: name)
        }
        try deferred.post(
            DeferredPosts.Pending(name: name, subject: object, payload: payload ?? .empty), style: style,
            coalescing: coalescing)
    }

    /// Posts a key's arguments later, and replaces equal posts that still wait.
    ///
    /// Otherwise as for a message (``post(_:subject:postingStyle:coalescing:)``).
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// for percent in 0...100 { try center.post(progress, percent, "decoding", postingStyle: .whenIdle) }
    /// center.postPending()
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`; with `.now`, and in a forked child, also
    ///   `.invalidName`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`, `.notPermitted`.
    public func post<each Argument>(
        _ key: Key<repeat each Argument>, _ arguments: repeat each Argument, subject: String? = nil,
        postingStyle style: PostingStyle, coalescing: Coalescing = [.name, .subject]
    ) throws(SharedNotificationError) {
        let payload = try core.payload(of: PostedArguments(values: (repeat each arguments)), name: key.name)
        try deferred.post(
            DeferredPosts.Pending(
                name: key.name, subject: subject, payload: payload, type: PostedArguments<repeat each Argument>.self),
            style: style, coalescing: coalescing)
    }

    /// Posts all waiting posts of this center object before it returns, for example before the process ends.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", postingStyle: .whenIdle)
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
