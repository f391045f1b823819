// Observers of message types with a closure. There are six overloads: the closure runs on a dispatcher thread or queue,
// on the main actor, or in a task, each with or without the envelope. The compiler selects the overload by the
// closure's type. If a closure fits several overloads, the compiler selects the first of them in this file.

public import Dispatch

extension SharedNotificationCenter {
    /// Calls a closure for every message of a type, one at a time and in order.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self, onMissed: { print("\($0) missed") }) { change in
    ///     print(change.title)
    /// }
    /// token.cancel()
    /// ```
    ///
    /// Promise: the closure receives every matching notification that is posted after this call has returned, once. A
    /// retained notification, if there is one, comes before them. After the token's ``ObservationToken/cancel()`` has
    /// returned, the closure is not running and does not run again.
    ///
    /// Without a queue, the closure runs on the center's dispatcher thread. This avoids a thread switch, so keep the
    /// closure short. If a closure takes longer than about 50 ms, it is set aside with its thread, and another thread
    /// serves the other observers. Running and blocked time counts; time spent waiting for a processor does not. On a
    /// queue, the closure may take longer. Up to 8,192 notifications or 64 MiB wait for it. Beyond that, the oldest are
    /// dropped and reported as missed. With `lossless`, posts are held back instead.
    ///
    /// - Parameters:
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives the number of lost matching notifications before the next notification, in the closure's
    ///     context. `nil`: ``onDiagnostic`` receives it.
    ///   - onUndecodable: receives payloads that do not decode as `M`, in the closure's context. `nil`:
    ///     ``onDiagnostic`` receives them.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
    public func addObserver<M: Message>(
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (M) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .closure(queue) { reading.read($0, handler) }
        }
    }

    /// Calls a closure with every message of a type and its ``Envelope``, one at a time and in order.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self) { change, envelope in
    ///     print("#\(envelope.sequence) from \(envelope.poster.pid): \(change.title)")
    /// }
    /// ```
    ///
    /// Otherwise the same as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-iwmc``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
    public func addObserver<M: Message>(
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (M, Envelope) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .closure(queue) { arrival in reading.read(arrival) { handler($0, arrival.envelope) } }
        }
    }

    /// Calls a closure on the main actor for every message of a type, one at a time and in order.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self) { @MainActor change in print(change.title) }
    /// ```
    ///
    /// Promise: as for the closure on a queue,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-iwmc``.
    /// After code on the main actor has cancelled the token, the closure does not run again.
    ///
    /// Up to 8,192 notifications or 64 MiB wait for the main actor. Beyond that, the oldest are dropped and reported as
    /// missed. With `lossless`, posts are held back instead.
    ///
    /// - Parameters:
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives the number of lost matching notifications before the next notification, in the closure's
    ///     context. `nil`: ``onDiagnostic`` receives it.
    ///   - onUndecodable: receives payloads that do not decode as `M`, in the closure's context. `nil`:
    ///     ``onDiagnostic`` receives them.
    ///   - handler: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
    public func addObserver<M: Message>(
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        using handler: @escaping @MainActor @Sendable (M) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .mainActor { if let message = reading.message($0) { handler(message) } }
        }
    }

    /// Calls a closure on the main actor with every message of a type and its ``Envelope``, one at a time and in order.
    ///
    /// Otherwise the same as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2c29b``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
    public func addObserver<M: Message>(
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        using handler: @escaping @MainActor @Sendable (M, Envelope) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .mainActor { if let message = reading.message($0) { handler(message, $0.envelope) } }
        }
    }

    /// Calls an asynchronous closure for every message of a type, one call after the other.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// actor Playlist { func add(_ title: String) {} }
    /// let playlist = Playlist()
    /// let token = try center.addObserver(for: TrackChanged.self) { change in await playlist.add(change.title) }
    /// await token.cancelAndWait()
    /// ```
    ///
    /// Promise: as for the closure on a queue,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-iwmc``.
    /// The next call starts after the previous call has returned.
    ///
    /// Up to 8,192 notifications or 64 MiB wait for the closure. Beyond that, the oldest are dropped and reported as
    /// missed. With `lossless`, posts are held back instead. Cancelling the token also cancels the task of a running
    /// call. ``ObservationToken/cancel()`` says when it waits for that call.
    ///
    /// - Parameters:
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives the number of lost matching notifications before the next notification, in the closure's
    ///     context. `nil`: ``onDiagnostic`` receives it.
    ///   - onUndecodable: receives payloads that do not decode as `M`, in the closure's context. `nil`:
    ///     ``onDiagnostic`` receives them.
    ///   - executor: the threads on which the closure runs while it is not on an actor with an executor of its own;
    ///     `nil`: threads of the library. A closure that blocks one of the library's threads takes none from the
    ///     program's tasks. If an executor runs on a single thread, that thread must be free for the closure to end.
    ///     Therefore do not call `cancel()` on it outside of tasks.
    ///   - handler: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
    public func addObserver<M: Message>(
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        executor: (any TaskExecutor)? = nil,
        using handler: @escaping @Sendable (M) async -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .task(executor) { if let message = reading.message($0) { await handler(message) } }
        }
    }

    /// Calls an asynchronous closure with every message of a type and its ``Envelope``, one call after the other.
    ///
    /// Otherwise the same as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-9rbiz``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
    public func addObserver<M: Message>(
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        executor: (any TaskExecutor)? = nil,
        using handler: @escaping @Sendable (M, Envelope) async -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .task(executor) { if let message = reading.message($0) { await handler(message, $0.envelope) } }
        }
    }
}

extension SharedNotificationCenter {
    /// The common implementation of the overloads above.
    func observe<M: Message>(
        _ type: M.Type, _ subject: String?, _ start: Start, _ excludingOwnPosts: Bool, _ lossless: Bool,
        _ onMissed: (@Sendable (Int) -> Void)?, _ onUndecodable: (@Sendable (UndecodableMessage) -> Void)?,
        as manner: (Reading<M>) -> Manner
    ) throws(SharedNotificationError) -> ObservationToken {
        let subscription = Subscription(
            names: [M.name], subject: subject, start: start, excludesOwn: excludingOwnPosts, isLossless: lossless)
        let reading = Reading(type, onUndecodable: onUndecodable, in: core)
        return ObservationToken(
            anchor: try core.observe(subscription, onMissed: ignoringName(onMissed), as: manner(reading)))
    }
}

func ignoringName(_ onMissed: (@Sendable (Int) -> Void)?) -> MissedHandler? {
    guard let onMissed else { return nil }
    return { count, _ in onMissed(count) }
}
