extension SharedNotificationCenter {
    /// When something is posted: at once, soon, or when things have calmed down.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", postingStyle: .asap)           // the caller goes on, another thread posts
    /// try center.post(name: "com.example.changed", postingStyle: .whenIdle)       // in place of that one, if it still waits
    /// ```
    public enum PostingStyle: Hashable, Sendable {
        /// Before the call returns.
        case now
        /// As soon as a thread of the center object's own gets to it: the caller pays for the encoding, and not for the post.
        case asap
        /// When nothing has been put off for 10 ms, at the latest after 100 ms.
        case whenIdle
    }

    /// What makes a post take the place of those that wait: whatever of this they have in common.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Int }
    /// let center = try SharedNotificationCenter.default
    /// for id in 1...3 { try center.post(Moved(x: id), subject: "\(id)", postingStyle: .whenIdle, coalescing: .name) }    // only the third
    /// for id in 1...3 { try center.post(Moved(x: id), subject: "\(id)", postingStyle: .whenIdle, coalescing: []) }       // all three
    /// ```
    public struct Coalescing: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: Int

        /// What these bits stand for.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The same name.
        public static let name = Coalescing(rawValue: 1)
        /// The same subject (object), or none as well.
        public static let subject = Coalescing(rawValue: 2)
    }

    /// Posts a message later, in place of equal ones that wait, as `NotificationQueue` does.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Int }
    /// let center = try SharedNotificationCenter.default
    /// for x in 0..<1000 { try center.post(Moved(x: x), postingStyle: .whenIdle) }   // observers see few of them, and the last one
    /// center.postPending()
    /// ```
    ///
    /// Promise: what waits is posted in the order of these calls, `asap` before `whenIdle`, each time with those it coalesces with taken out and
    /// itself at the end. It belongs to this center object, and is posted also when that is gone; what waits when the process ends is lost,
    /// see ``postPending()``. In a forked child everything is posted at once.
    ///
    /// - Parameters:
    ///   - message: encoded now, posted later.
    ///   - subject: whom or what it is about, 1 to 255 bytes of UTF-8.
    ///   - style: when. With `.now`, those that wait and match are taken out as well. If one that matches is just being posted,
    ///     this waits until it has been.
    ///   - coalescing: which of those that wait it takes the place of: those that match in all of it; `[]`: none.
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`; with `.now`, and in a forked child, also `.invalidName`, `.payloadTooLarge`,
    ///   `.noSpace`, `.full`, `.removed`, `.notPermitted`. If a later post fails, ``onDiagnostic`` is told ``Diagnostic/postFailed(_:_:)``.
    public func post<M: Message>(
        _ message: M, subject: String? = nil, postingStyle style: PostingStyle,
        coalescing: Coalescing = [.name, .subject]
    ) throws(SharedNotificationError) {
        try deferred.post(
            DeferredPosts.Pending(
                name: M.name, subject: subject, payload: try core.payload(of: message), type: M.self), style: style,
            coalescing: coalescing)
    }

    /// Posts a name with an object and a dictionary later, in place of equal ones that wait. Otherwise as for a message
    /// (``post(_:subject:postingStyle:coalescing:)``).
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", object: "player-1", userInfo: ["volume": 0.5], postingStyle: .whenIdle)
    /// center.postPending()
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.encodingFailed` (nested too deep); with `.now`, and in a forked child, also `.invalidName`,
    ///   `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`, `.notPermitted`.
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

    /// Posts a key's arguments later, in place of equal ones that wait. Otherwise as for a message
    /// (``post(_:subject:postingStyle:coalescing:)``).
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// for percent in 0...100 { try center.post(progress, percent, "decoding", postingStyle: .whenIdle) }
    /// center.postPending()
    /// ```
    ///
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`; with `.now`, and in a forked child, also `.invalidName`, `.payloadTooLarge`,
    ///   `.noSpace`, `.full`, `.removed`, `.notPermitted`.
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

    /// Posts everything that waits to be posted by this center object, before it returns: before the process ends, say.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed", postingStyle: .whenIdle)
    /// center.postPending()
    /// exit(0)
    /// ```
    ///
    /// Promise: from any thread; what another thread is just posting is posted, too, when this has returned. ``onDiagnostic`` is told what
    /// could not be posted (``Diagnostic/postFailed(_:_:)``). If that closure calls this while a waiting post is being posted, this returns at
    /// once, and the rest is posted after the closure returns. In a forked child nothing waits, and this does nothing.
    public func postPending() {
        deferred.drain(all: true)
    }
}
