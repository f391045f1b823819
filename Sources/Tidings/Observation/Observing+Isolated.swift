// On an actor: messages and keys × with or without the envelope.
extension SharedNotificationCenter {
    /// Calls a closure on an actor for every message of a type, one at a time and in order. The closure is given the actor, so it uses what
    /// the actor guards without waiting.
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
    /// - it runs where the actor runs, on its executor if it has one of its own;
    /// - the actor is held weakly, so it may keep the token. When it is gone nothing is called any more, and the observation ends by itself
    ///   (at the latest with the next notification);
    /// - what one of the actor's own methods cancels does not run any more.
    ///
    /// Up to 8,192 notifications or 64 MiB wait for the actor, then the oldest are dropped and reported as missed (with `lossless`: posters
    /// are held back instead).
    ///
    /// - Parameters:
    ///   - type: the message type; its ``Message/name`` is what is observed.
    ///   - actor: where the closure runs; weakly held.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, on the actor. `nil`: ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not an `M`, on the actor. `nil`: ``onDiagnostic`` is told.
    ///   - handler: what to do with a message.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
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
    /// Otherwise as without the envelope:
    /// ``addObserver(for:isolatedTo:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-(_,_,_,_,_,_,_,_,(A,M)->Void)``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
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

    /// Calls a closure on an actor with the arguments of every notification of a key, one at a time and in order. The closure has to say that its
    /// first argument is `isolated`: Swift doesn't find out by itself here.
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
    /// Promise, and what the parameters mean: as for a message,
    /// ``addObserver(for:isolatedTo:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-(_,_,_,_,_,_,_,_,(A,M)->Void)``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
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
            // Always an `A`: it is what the `WeakActor` of this very case refers to, which is this function's argument. `drain(on:)` is isolated
            // to it and calls from there; if it weren't, `assumeIsolated` would end the process rather than race.
            (actor as! A).assumeIsolated { handler($0, arrival) }
        }
    }
}
