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
    /// Promises: as for the closure of a message, `addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)`.
    /// What was posted as a message or a key's arguments arrives as well, see ``Notification``.
    ///
    /// - Parameters:
    ///   - name: the name to observe; `nil`: all. An observer of all names is woken by every post.
    ///   - object: only those posted about this object (with this subject); `nil`: all, those without one too.
    ///   - suspensionBehavior: what becomes of notifications that come while ``isSuspended``.
    ///   - onMissed: told how many notifications of which name (`nil`: of all names together) were lost, before the next one. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: what to do with a notification.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.forked`.
    public func addObserver(
        forName name: Name?,
        object: String?,
        suspensionBehavior: SuspensionBehavior = .coalesce,
        onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (Notification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(
            Interest(names: name.map { [$0] }, subject: object, start: .now, excludesOwn: false, isLossless: false),
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
    /// Promises: as for `addObserver(forName:object:suspensionBehavior:onMissed:queue:using:)`, and the order is one over all these names. Posts of
    /// other names don't wake this observer. Retained values come to observers of their very name: this gets those that are posted from then on.
    ///
    /// - Parameters:
    ///   - prefix: what the names begin with, compared byte by byte: `com.example.` stands for `com.example.a`, and not for `com.examples`. 1 to
    ///     255 bytes of UTF-8 without `*`, or empty, for all names. A center has place for 256 different ones.
    ///   - object: only those posted about this object (with this subject); `nil`: all, those without one too.
    ///   - suspensionBehavior: what becomes of notifications that come while ``isSuspended``; each name is one of its own.
    ///   - onMissed: told how many of these names together, whatever their object, were lost before the next one; with the prefix and a `*`
    ///     after it in place of a name (`com.example.*`; `nil`: all names). `nil`: ``onDiagnostic`` is told.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: what to do with a notification.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for prefixes), `.tooManyObservers`, `.forked`; `.notPermitted` in a center
    ///   that was opened for reading only, where all names can be observed.
    public func addObserver(
        forNamesWithPrefix prefix: String,
        object: String?,
        suspensionBehavior: SuspensionBehavior = .coalesce,
        onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (Notification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(
            Interest(
                names: [], prefixes: [prefix], subject: object, start: .now, excludesOwn: false, isLossless: false),
            suspensionBehavior, onMissed, queue, handler)
    }

    private func observe(
        _ interest: Interest, _ suspensionBehavior: SuspensionBehavior, _ onMissed: MissedHandler?,
        _ queue: DispatchQueue?, _ handler: @escaping @Sendable (Notification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let anchor = try suspension.add(suspensionBehavior) { (held, isSuspended) throws(SharedNotificationError) in
            try core.observe(
                interest, onMissed: onMissed, held: held, isSuspended: isSuspended,
                as: .closure(queue) { handler(Notification($0.notification)) })
        }
        return ObservationToken(anchor: anchor)
    }
}
