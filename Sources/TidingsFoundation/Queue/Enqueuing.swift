// Posts that wait and replace each other, as in `NotificationQueue`.
public import Tidings

extension SharedNotificationCenter {
    /// Posts a message at once, soon, or when the center object is idle.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Int }
    /// let center = try SharedNotificationCenter.default
    /// for x in 1...100 { try center.enqueue(Moved(x: x), postingStyle: .whenIdle) }       // observers need the last
    /// ```
    ///
    /// Promise: the message is encoded before the call returns. Waiting posts are posted in the order of the calls,
    /// `asap` before `whenIdle`, also after the center object is released. A post replaces the waiting posts that are
    /// equal to it (``Coalescing``), and goes to the end of the queue. `.now` also removes them. If one of them is
    /// being posted at this moment, the call waits until that post has ended. Setting or clearing a state does not
    /// remove waiting posts: a retained one is posted afterwards, and replaces it. If the process ends, waiting posts
    /// are lost: see ``postPending()``. In a forked child, each call posts at once. If a waiting post fails,
    /// ``onDiagnostic`` receives ``Diagnostic/postFailed(_:_:)``.
    ///
    /// - Parameters:
    ///   - message: at most the center's maximum payload size.
    ///   - postingStyle: when it is posted.
    ///   - coalescing: which waiting posts it replaces.
    ///   - options: as for a post. The timeout counts for `.now` alone.
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`; with `.now` and in a forked child the errors of
    ///   `post(_:options:)`.
    public func enqueue<M: Message>(
        _ message: M, postingStyle: PostingStyle, coalescing: Coalescing = [.name, .subject],
        options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) {
        try enqueue(message, postingStyle.style, coalescing.coalescing, options)
    }

    /// Posts a key's arguments at once, soon, or when the center object is idle.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// try SharedNotificationCenter.default.enqueue(progress, 42, "decoding", postingStyle: .whenIdle)
    /// ```
    ///
    /// Promise and parameters: as for a message, `enqueue(_:postingStyle:coalescing:options:)`.
    ///
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`; with `.now` and in a forked child the errors of
    ///   `post(_:_:options:)`.
    public func enqueue<each Argument>(
        _ key: Key<repeat each Argument>, _ arguments: repeat each Argument, postingStyle: PostingStyle,
        coalescing: Coalescing = [.name, .subject], options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) {
        try enqueue(
            key, repeat each arguments, style: postingStyle.style, coalescing: coalescing.coalescing, options: options)
    }

    /// Posts a name, with a dictionary if wanted, at once, soon, or when the center object is idle.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.enqueue(name: "com.example.changed", userInfo: ["volume": 0.5], postingStyle: .whenIdle)
    /// ```
    ///
    /// Promise and parameters: as for a message, `enqueue(_:postingStyle:coalescing:options:)`.
    ///
    /// - Throws: ``SharedNotificationError``: `.encodingFailed`; with `.now` and in a forked child the errors of
    ///   `post(name:userInfo:options:)`.
    public func enqueue(
        name: Name, userInfo: UserInfo? = nil, postingStyle: PostingStyle,
        coalescing: Coalescing = [.name, .subject], options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) {
        let (style, coalescing) = (postingStyle.style, coalescing.coalescing)
        guard let userInfo else { return try enqueue(.empty, name: name, style, coalescing, options) }
        try enqueue(encoding: userInfo, name: name, style, coalescing, options)
    }

    /// Posts bytes that are already encoded at once, soon, or when the center object is idle.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.enqueue(name: "com.example.volume", payload: .json("0.5"), postingStyle: .whenIdle)
    /// ```
    ///
    /// Promise and parameters: as for a message, `enqueue(_:postingStyle:coalescing:options:)`.
    ///
    /// - Throws: ``SharedNotificationError``: with `.now` and in a forked child the errors of
    ///   ``post(name:payload:options:)``.
    public func enqueue(
        name: Name, payload: RawPayload, postingStyle: PostingStyle, coalescing: Coalescing = [.name, .subject],
        options: PostOptions = PostOptions()
    ) throws(SharedNotificationError) {
        try enqueue(payload, name: name, postingStyle.style, coalescing.coalescing, options)
    }

    /// Posts all waiting posts of this center object before it returns, for example before the process ends.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.enqueue(name: "com.example.changed", postingStyle: .whenIdle)
    /// center.postPending()
    /// exit(0)
    /// ```
    ///
    /// Promise: may be called from any thread. If another thread is posting waiting posts, those have also been posted
    /// when this returns. ``onDiagnostic`` receives each failure (``Diagnostic/postFailed(_:_:)``). If that closure
    /// calls this during a waiting post, this returns at once, and the remaining posts follow after the closure
    /// returns. In a forked child no posts wait, and this does nothing.
    public func postPending() {
        drainQueue()
    }
}
