public import Dispatch

// The same six ways as for messages, with the arguments of a key.
extension SharedNotificationCenter {
    /// Calls a closure with the arguments of every notification of a key, one at a time and in order.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let token = try SharedNotificationCenter.default.addObserver(for: progress) { percent, stage in print(percent, stage) }
    /// ```
    ///
    /// Promises, and where the closure runs: as for the closure of a message,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``.
    ///
    /// - Parameters:
    ///   - key: the name that is observed, and what its payloads are decoded as.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, in the closure's context. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not what the key says, in the closure's context. `nil`: ``onDiagnostic`` is told.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: what to do with the arguments.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (repeat each Argument) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .closure(queue) { if let arguments = reading.arguments($0) { handler(repeat each arguments) } }
        }
    }

    /// Calls a closure with the ``Envelope`` and the arguments of every notification of a key, one at a time and in order.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: progress) { envelope, percent, stage in
    ///     print("\(envelope.poster.executable ?? "somebody") is \(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// Otherwise as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-(_,_,_,_,_,_,_,_,(Argument)->Void)``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        queue: DispatchQueue? = nil,
        using handler: @escaping @Sendable (Envelope, repeat each Argument) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .closure(queue) {
                if let arguments = reading.arguments($0) { handler($0.envelope, repeat each arguments) }
            }
        }
    }

    /// Calls a closure on the main actor with the arguments of every notification of a key, one at a time and in order.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: progress) { @MainActor percent, stage in print("\(stage): \(percent) %") }
    /// ```
    ///
    /// Promise: as for the main actor's closure of a message,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2c29b``.
    ///
    /// - Parameters:
    ///   - key: the name that is observed, and what its payloads are decoded as.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, in the closure's context. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not what the key says, in the closure's context. `nil`: ``onDiagnostic`` is told.
    ///   - handler: what to do with the arguments.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        using handler: @escaping @MainActor @Sendable (repeat each Argument) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .mainActor { if let arguments = reading.arguments($0) { handler(repeat each arguments) } }
        }
    }

    /// Calls a closure on the main actor with the ``Envelope`` and the arguments of every notification of a key, one at a time and in order.
    ///
    /// Otherwise as without the envelope: ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2nh8a``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        using handler: @escaping @MainActor @Sendable (Envelope, repeat each Argument) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .mainActor { if let arguments = reading.arguments($0) { handler($0.envelope, repeat each arguments) } }
        }
    }

    /// Calls an asynchronous closure with the arguments of every notification of a key: the next call starts when the one before has
    /// returned.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// actor Log { func write(_ line: String) {} }
    /// let log = Log()
    /// let token = try center.addObserver(for: progress) { percent, stage in await log.write("\(stage): \(percent) %") }
    /// ```
    ///
    /// Promise: as for the asynchronous closure of a message,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``.
    ///
    /// - Parameters:
    ///   - key: the name that is observed, and what its payloads are decoded as.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, in the closure's context. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are not what the key says, in the closure's context. `nil`: ``onDiagnostic`` is told.
    ///   - executor: whose threads the closure runs on, while it is not on an actor that has its own; `nil`: threads of the library's own, which
    ///     a closure that blocks takes from nobody.
    ///   - handler: what to do with the arguments.
    /// - Returns: what keeps the observation going. It ends with `cancel()`, or when the last copy goes away.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory).
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        executor: (any TaskExecutor)? = nil,
        using handler: @escaping @Sendable (repeat each Argument) async -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .task(executor) { if let arguments = reading.arguments($0) { await handler(repeat each arguments) } }
        }
    }

    /// Calls an asynchronous closure with the ``Envelope`` and the arguments of every notification of a key: the next call starts when the one
    /// before has returned.
    ///
    /// Otherwise as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-(_,_,_,_,_,_,_,_,(Argument)->Void)``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        executor: (any TaskExecutor)? = nil,
        using handler: @escaping @Sendable (Envelope, repeat each Argument) async -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        try observe(key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable) { reading in
            .task(executor) {
                if let arguments = reading.arguments($0) { await handler($0.envelope, repeat each arguments) }
            }
        }
    }

    /// What all of these come to.
    func observe<each Argument>(
        _ key: Key<repeat each Argument>, _ subject: String?, _ start: Start, _ excludingOwnPosts: Bool,
        _ lossless: Bool, _ onMissed: (@Sendable (Int) -> Void)?,
        _ onUndecodable: (@Sendable (UndecodableMessage) -> Void)?,
        as manner: (KeyReading<repeat each Argument>) -> Manner
    ) throws(SharedNotificationError) -> ObservationToken {
        let subscription = Subscription(
            names: [key.name], subject: subject, start: start, excludesOwn: excludingOwnPosts, isLossless: lossless)
        let reading = KeyReading(key, onUndecodable: onUndecodable, in: core)
        return ObservationToken(
            anchor: try core.observe(subscription, onMissed: ignoringName(onMissed), as: manner(reading)))
    }
}
