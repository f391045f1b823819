public import Dispatch

// Six ways to say the same: where the closure runs (dispatcher thread or queue, main actor, task) × with or without the
// envelope. Which one is meant shows in the closure; a closure that fits several is taken as the first of them.
extension SharedNotificationCenter {
    /// Calls a closure for every message of a type, one at a time and in order.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self, onMissed: { count in print("\(count) missed") }) { change in
    ///     print(change.title)
    /// }
    /// token.cancel()
    /// ```
    ///
    /// Promise: every matching notification posted after this returned, once, and before them the retained one, if there is one; when the
    /// token's ``ObservationToken/cancel()`` has returned, the closure is not running and will not run again.
    ///
    /// Without a queue the closure runs on the center's own dispatcher thread, which costs no hand-over: keep it short. One that takes
    /// longer than about 50 ms (it runs or is blocked; waiting for a processor does not count) is set aside with its thread, and another thread
    /// serves the other observers.
    /// On a queue it may take its time: up to 8,192 notifications or 64 MiB wait for it, then the oldest are dropped
    /// and reported as missed (with `lossless`: posters are held back instead).
    ///
    /// - Parameters:
    ///   - type: the message type; its ``Message/name`` is what is observed.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, in the closure's context. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not an `M`, in the closure's context. `nil`: ``onDiagnostic`` is told.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: what to do with a message.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
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
    /// Otherwise as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
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
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``. What the main
    /// actor cancels does not run any more.
    ///
    /// Up to 8,192 notifications or 64 MiB wait for the main actor, then the oldest are dropped and reported as missed (with
    /// `lossless`: posters are held back instead).
    ///
    /// - Parameters:
    ///   - type: the message type; its ``Message/name`` is what is observed.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, in the closure's context. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not an `M`, in the closure's context. `nil`: ``onDiagnostic`` is told.
    ///   - handler: what to do with a message.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
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
    /// Otherwise as without the envelope: ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2c29b``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
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

    /// Calls an asynchronous closure for every message of a type: the next call starts when the one before has returned.
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
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``.
    ///
    /// Up to 8,192 notifications or 64 MiB wait for it, then the oldest are dropped and reported as missed (with `lossless`:
    /// posters are held back instead). Cancelling the token also cancels the task of a running call; see
    /// ``ObservationToken/cancel()`` for when it waits for it.
    ///
    /// - Parameters:
    ///   - type: the message type; its ``Message/name`` is what is observed.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, in the closure's context. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not an `M`, in the closure's context. `nil`: ``onDiagnostic`` is told.
    ///   - executor: whose threads the closure runs on, while it is not on an actor that has its own; `nil`: threads of the library's own, which
    ///     a closure that blocks takes from nobody. One that runs on a single thread needs that thread for the closure's end: outside of tasks,
    ///     don't call `cancel()` there.
    ///   - handler: what to do with a message.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
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

    /// Calls an asynchronous closure with every message of a type and its ``Envelope``: the next call starts when the one before has returned.
    ///
    /// Otherwise as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
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
    /// What all of these come to.
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
