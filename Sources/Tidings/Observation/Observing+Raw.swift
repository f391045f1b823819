// Observers and sequences of raw notifications: any names and prefixes, with the payload's bytes as posted.

public import Dispatch

extension SharedNotificationCenter {
    /// Calls a closure for every notification of some names or prefixes, or of all names, with the payload's bytes as
    /// posted.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let prefixes = ["com.example.player."]
    /// let token = try center.addObserver(forNames: ["com.example.other"], prefixes: prefixes) { notification in
    ///     print(notification.envelope.sequence, notification.name, notification.payload.json)
    /// }
    /// ```
    ///
    /// Promise: as for typed observers,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-iwmc``.
    /// The notifications of all names arrive in one order. Each notification arrives once, even if it matches several
    /// names and prefixes. Posts of other names do not wake an observer of prefixes.
    ///
    /// - Parameters:
    ///   - names: the observed names; `nil`: all names.
    ///   - prefixes: observe also all names with one of these prefixes, compared byte by byte: `com.example.` matches
    ///     `com.example.a` and not `com.examples`. A prefix has 1 to 255 bytes of UTF-8 without `*`, or is empty and
    ///     matches all names. A center holds 256 different prefixes. If `names` is `nil`, prefixes have no effect.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives the number of lost notifications and their name (`nil`: the number is for all names
    ///     together), before the next notification. For a prefix, the number includes all its names and subjects, and
    ///     the name is the prefix followed by `*` (`com.example.*`). A name that matches both `names` and a prefix is
    ///     counted for the prefix only.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: receives each notification.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for a prefix or the subject), `.invalidArgument`
    ///   (neither a name nor a prefix), `.noSpace` (for names, or prefixes), `.tooManyObservers`, `.notPermitted`
    ///   (lossless or a prefix, in a center opened read-only, which allows observing all names), `.forked`, `.system`
    ///   (no thread, or no memory).
    public func addObserver(
        forNames names: [Name]?,
        prefixes: [String] = [],
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (RawNotification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let anchor = try core.observe(
            Subscription(
                names: names, prefixes: prefixes, subject: subject, start: start, excludesOwn: excludingOwnPosts,
                isLossless: lossless),
            onMissed: onMissed,
            as: .closure(queue) { handler($0.notification) })
        return ObservationToken(anchor: anchor)
    }

    /// The notifications of some names or prefixes, or of all names, with the payload's bytes as posted, and reports of
    /// losses.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// for await delivery in center.deliveries(ofNames: ["com.example.a", "com.example.b"], from: .oldest) {
    ///     switch delivery {
    ///     case .notification(let notification): print(notification.name)
    ///     case .missed(let count, let name): print(count, name?.rawValue ?? "of all names")
    ///     case .reopened, .centerEnded: print("another center, or none")
    ///     }
    /// }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, where a `for await` loop begins. It ends with the iterator, or when
    /// its task is cancelled. Each iterator is an observation of its own. If observing can't start, the sequence is
    /// empty. ``onDiagnostic`` then receives the error (``Diagnostic/sequenceFailed(_:)``), with the codes that the
    /// closure's `addObserver` throws.
    ///
    /// - Parameters:
    ///   - names: the observed names; `nil`: all names.
    ///   - prefixes: observe also all names with one of these prefixes. For this parameter, and for reports of losses,
    ///     see `addObserver(forNames:prefixes:subject:from:excludingOwnPosts:lossless:onMissed:queue:using:)`.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - bufferSize: how many notifications (at least 1; at most 64 MiB in total) may wait for the iterator.
    ///   - keeping: which notifications a full buffer keeps, the newest or the oldest. The sequence drops the excess
    ///     and reports it as missed. A lossless sequence drops none and ignores this parameter.
    public func deliveries(
        ofNames names: [Name]?,
        prefixes: [String] = [],
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        bufferSize: Int = 1024,
        keeping: Keeping = .newest
    ) -> RawDeliveries {
        RawDeliveries(
            core: core,
            subscription: Subscription(
                names: names, prefixes: prefixes, subject: subject, start: start, excludesOwn: excludingOwnPosts,
                isLossless: lossless),
            bounds: .sequence(bufferSize, keeping))
    }
}
