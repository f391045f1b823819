// Observers of names and prefixes in the style of `DistributedNotificationCenter`, which receive an untyped
// ``Notification``.

public import Dispatch

extension SharedNotificationCenter {
    /// Calls a closure for every notification of a name about an object, as `DistributedNotificationCenter` does.
    ///
    /// Calls come one at a time and in order.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: "com.example.changed", object: nil, queue: .main) { notification in
    ///     print(notification.object ?? "no object", notification.userInfo?["volume"]?.double ?? 1)
    /// }
    /// ```
    ///
    /// Promise: as for the closure of a message,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-iwmc``.
    /// Notifications that were posted as a message or as a key's arguments arrive as well, see ``Notification``.
    ///
    /// - Parameters:
    ///   - name: the observed name; `nil`: all names. Every post wakes an observer of all names.
    ///   - object: only notifications posted about this object (with this subject); `nil`: all notifications, with and
    ///     without a subject.
    ///   - suspensionBehavior: what happens to notifications that arrive while ``isSuspended`` is true.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives the number of lost notifications and their name (`nil`: the number is for all names
    ///     together), before the next notification. `nil`: ``onDiagnostic`` receives them.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: receives each notification.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the object), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
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

    /// Calls a closure for every notification about an object whose name has a prefix, one at a time and in order.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let prefix = "com.example.player."
    /// let token = try center.addObserver(forNamesWithPrefix: prefix, object: nil, queue: .main) { notification in
    ///     print(notification.name, notification.object ?? "no object")
    /// }
    /// ```
    ///
    /// Promise: as for
    /// ``addObserver(forName:object:suspensionBehavior:from:excludingOwnPosts:lossless:onMissed:queue:using:)``. The
    /// notifications of all matching names arrive in one order. Posts of other names do not wake this observer.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the names, compared byte by byte: `com.example.` matches `com.example.a` and not
    ///     `com.examples`. A prefix has 1 to 255 bytes of UTF-8 without `*`, or is empty and matches all names. A
    ///     center holds 256 different prefixes.
    ///   - object: only notifications posted about this object (with this subject); `nil`: all notifications, with and
    ///     without a subject.
    ///   - suspensionBehavior: what happens to notifications that arrive while ``isSuspended`` is true. The behavior
    ///     applies to each name separately.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives one number for all lost notifications of matching names, with any object, before the next
    ///     notification. It also receives the prefix followed by `*` (`com.example.*`; `nil`: all names). If the
    ///     closure is `nil`, ``onDiagnostic`` receives both.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: receives each notification.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for prefixes), `.tooManyObservers`,
    ///   `.notPermitted` (lossless or a prefix, in a center opened read-only, which allows observing all names),
    ///   `.forked`, `.system` (no thread, or no memory).
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
