// Observers whose closure runs on an actor: messages with or without the envelope, and keys.
extension SharedNotificationCenter {
    /// Calls a closure on an actor for every message of a type, one at a time and in order.
    ///
    /// The closure receives the actor as an isolated parameter, so it uses the actor's state without `await`.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// actor Playlist {
    ///     var titles: [String] = []
    ///     var token: SharedNotificationCenter.ObservationToken?
    ///
    ///     func follow(_ center: SharedNotificationCenter) throws {
    ///         token = try center.addObserver(for: TrackChanged.self, isolatedTo: self) { playlist, change in
    ///             playlist.titles.append(change.title)
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// Promise: as for the closure on a queue, and
    /// - the closure runs on the actor's executor;
    /// - the center holds the actor weakly, so the actor may store the token. After the actor is released, the closure
    ///   is not called. The observation then ends, at the latest with the next notification;
    /// - after a method of the actor has cancelled the token, the closure does not run again.
    ///
    /// Up to 8,192 notifications or 64 MiB wait for the actor. Beyond that, the oldest are dropped and reported as
    /// missed. With `lossless`, posts are held back instead.
    ///
    /// - Parameters:
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - actor: where the closure runs; the center holds it weakly.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts. A count of missed notifications
    ///     includes them, because the poster of a lost notification is unknown.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives the number of lost matching notifications before the next notification, on the actor.
    ///     `nil`: ``onDiagnostic`` receives it.
    ///   - onUndecodable: receives payloads that do not decode as `M`, on the actor. `nil`: ``onDiagnostic`` receives
    ///     them.
    ///   - handler: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
    public func addObserver<M: Message, A: Actor>(
        for type: M.Type = M.self,
        isolatedTo actor: A,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        using handler: @escaping @Sendable (isolated A, M) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .isolated(to: actor) { actor, arrival in
                if let message = reading.message(arrival) { handler(actor, message) }
            }
        }
    }

    /// Calls a closure on an actor with every message of a type and its ``Envelope``, one at a time and in order.
    ///
    /// Otherwise the same as without the envelope:
    /// ``addObserver(for:isolatedTo:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-58zzm``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
    public func addObserver<M: Message, A: Actor>(
        for type: M.Type = M.self,
        isolatedTo actor: A,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        using handler: @escaping @Sendable (isolated A, M, Envelope) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .isolated(to: actor) { actor, arrival in
                if let message = reading.message(arrival) { handler(actor, message, arrival.envelope) }
            }
        }
    }

    /// Calls a closure on an actor with the arguments of every notification of a key, one at a time and in order.
    ///
    /// The closure must declare its first parameter as `isolated`: Swift does not infer it here.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// actor Log { var lines: [String] = [] }
    /// let log = Log()
    /// let token = try SharedNotificationCenter.default.addObserver(for: progress, isolatedTo: log) {
    ///     (log: isolated Log, percent: Int, stage: String) in log.lines.append("\(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// Promise and parameters: as for a message,
    /// ``addObserver(for:isolatedTo:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-58zzm``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
    public func addObserver<A: Actor, each Argument>(
        for key: Key<repeat each Argument>,
        isolatedTo actor: A,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        using handler: @escaping @Sendable (isolated A, repeat each Argument) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .isolated(to: actor) { actor, arrival in
                if let arguments = reading.arguments(arrival) { handler(actor, repeat each arguments) }
            }
        }
    }
}

extension Manner {
    fileprivate static func isolated<A: Actor>(
        to actor: A, _ handler: @escaping @Sendable (isolated A, Arrival) -> Void
    ) -> Manner {
        .isolated(WeakActor(actor: actor)) { actor, arrival in
            // The cast can't fail: the `WeakActor` of this case refers to this function's argument, an `A`.
            // `drain(on:)` is isolated to that actor and calls this closure. Otherwise `assumeIsolated` would end the
            // process instead of allowing a race.
            (actor as! A).assumeIsolated { handler($0, arrival) }
        }
    }
}
