public import Dispatch

extension SharedNotificationCenter {
    /// Calls a closure for every notification of some names, of all that begin with something, or of all names, with the payload as it travels.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: ["com.example.other"], prefixes: ["com.example.player."]) { notification in
    ///     print(notification.envelope.sequence, notification.name, notification.payload.json)
    /// }
    /// ```
    ///
    /// Promises as for typed observers,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``; the order is one
    /// over all names, and each notification comes once, however many of the names and prefixes it is of. Posts of other names don't wake an observer
    /// of prefixes.
    ///
    /// - Parameters:
    ///   - names: the names to observe; `nil`: all.
    ///   - prefixes: observe also all names that begin with one of these, compared byte by byte: `com.example.` stands for `com.example.a`, and
    ///     not for `com.examples`. 1 to 255 bytes without `*`, or empty, for all names. A center has place for 256 different ones. With `nil` for
    ///     `names` it makes no difference.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many notifications of which name (`nil`: of all names together) were lost, before the next one. Of a prefix all
    ///     together, with a `*` after it in place of a name (`com.example.*`), and whatever their subject; what is of `names` and of a prefix is
    ///     counted there only.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: what to do with a notification.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or prefix, or subject), `.invalidArgument` (neither a name nor a prefix), `.noSpace`
    ///   (for names, or prefixes), `.tooManyObservers`, `.notPermitted` (lossless, or a prefix, in a center that was opened for reading only, where
    ///   all names can be observed), `.forked`, `.system` (no thread, or no memory).
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

    /// The notifications of some names, of all that begin with something, or of all names, with their payloads as they travel, and what was
    /// missed.
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
    /// Observation starts at `makeAsyncIterator()`, that is where a `for await` loop begins, and ends with the iterator, or when
    /// its task is cancelled. Each iterator observes for itself. If observing can't start, ``onDiagnostic`` is told why
    /// (``Diagnostic/sequenceFailed(_:)``, with the codes that the closure's `addObserver` throws) and the sequence is empty.
    ///
    /// - Parameters:
    ///   - names: the names to observe; `nil`: all.
    ///   - prefixes: observe also all names that begin with one of these. This, and how it is told what was missed of them, as for
    ///     `addObserver(forNames:prefixes:subject:from:excludingOwnPosts:lossless:onMissed:queue:using:)`.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - bufferSize: how many notifications (at least 1; 64 MiB at most in all) may wait to be asked for.
    ///   - keeping: which of more are kept, the newest or the oldest; the rest are dropped, and reported as missed. Makes no difference
    ///     to a lossless one, which drops none.
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
