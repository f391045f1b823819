public import Dispatch

extension SharedNotificationCenter {
    /// Calls a closure for every notification of a name about an object, one at a time and in order, as `DistributedNotificationCenter` does.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: "com.example.changed", object: nil, queue: .main) { notification in
    ///     print(notification.object ?? "somebody", notification.userInfo?["volume"]?.double ?? 1)
    /// }
    /// ```
    ///
    /// Promises: as for the closure of a message,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``. What was posted
    /// as a message or a key's arguments arrives as well, see ``Notification``.
    ///
    /// - Parameters:
    ///   - name: the name to observe; `nil`: all. An observer of all names is woken by every post.
    ///   - object: only those posted about this object (with this subject); `nil`: all, those without one too.
    ///   - suspensionBehavior: what becomes of notifications that come while ``isSuspended``.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many notifications of which name (`nil`: of all names together) were lost, before the next one. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: what to do with a notification.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or object), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
    public func addObserver(
        forName name: Name?,
        object: String?,
        suspensionBehavior: SuspensionBehavior = .coalesce,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (Notification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(
            Subscription(
                names: name.map { [$0] }, subject: object, start: start, excludesOwn: excludingOwnPosts,
                isLossless: lossless),
            suspensionBehavior, onMissed, queue, handler)
    }

    /// Calls a closure for every notification about an object whose name begins with something, one at a time and in order.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNamesWithPrefix: "com.example.player.", object: nil, queue: .main) { notification in
    ///     print(notification.name, notification.object ?? "somebody")
    /// }
    /// ```
    ///
    /// Promises: as for ``addObserver(forName:object:suspensionBehavior:from:excludingOwnPosts:lossless:onMissed:queue:using:)``, and the order is
    /// one over all these names. Posts of other names don't wake this observer.
    ///
    /// - Parameters:
    ///   - prefix: what the names begin with, compared byte by byte: `com.example.` stands for `com.example.a`, and not for `com.examples`. 1 to
    ///     255 bytes of UTF-8 without `*`, or empty, for all names. A center has place for 256 different ones.
    ///   - object: only those posted about this object (with this subject); `nil`: all, those without one too.
    ///   - suspensionBehavior: what becomes of notifications that come while ``isSuspended``; each name is one of its own.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many of these names together, whatever their object, were lost before the next one; with the prefix and a `*`
    ///     after it in place of a name (`com.example.*`; `nil`: all names). `nil`: ``onDiagnostic`` is told.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: what to do with a notification.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for prefixes), `.tooManyObservers`, `.notPermitted` (lossless, or a prefix,
    ///   in a center that was opened for reading only, where all names can be observed), `.forked`, `.system` (no thread, or no memory).
    public func addObserver(
        forNamesWithPrefix prefix: String,
        object: String?,
        suspensionBehavior: SuspensionBehavior = .coalesce,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (Notification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(
            Subscription(
                names: [], prefixes: [prefix], subject: object, start: start, excludesOwn: excludingOwnPosts,
                isLossless: lossless),
            suspensionBehavior, onMissed, queue, handler)
    }

    private func observe(
        _ subscription: Subscription, _ suspensionBehavior: SuspensionBehavior, _ onMissed: MissedHandler?,
        _ queue: DispatchQueue?, _ handler: @escaping @Sendable (Notification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let anchor = try suspension.add(suspensionBehavior) { (held, isSuspended) throws(SharedNotificationError) in
            try core.observe(
                subscription, onMissed: onMissed, held: held, isSuspended: isSuspended,
                as: .closure(queue) { handler(Notification($0.notification)) })
        }
        return ObservationToken(anchor: anchor)
    }
}
