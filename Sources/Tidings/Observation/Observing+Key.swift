// Observers of keys with a closure. The six overloads are those for messages, with the arguments of a key.

public import Dispatch

extension SharedNotificationCenter {
    /// Calls a closure with the arguments of every notification of a key, one at a time and in order.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: progress) { percent, stage in print(percent, stage) }
    /// ```
    ///
    /// Promise, and where the closure runs: as for the closure of a message,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-iwmc``.
    ///
    /// - Parameters:
    ///   - key: the observed name, and the types that its payloads decode as.
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
    ///   - onUndecodable: receives payloads that do not decode as the key's arguments, in the closure's context. `nil`:
    ///     ``onDiagnostic`` receives them.
    ///   - queue: where the closure runs; `nil`: on the dispatcher thread.
    ///   - handler: receives the arguments of each notification.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
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

    /// Calls a closure with the ``Envelope`` and the arguments of every notification of a key, one at a time and in
    /// order.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: progress) { envelope, percent, stage in
    ///     print("\(envelope.poster.executable ?? "a process") is \(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// Otherwise the same as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:using:)-5ia39``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
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
    /// let token = try center.addObserver(for: progress) { @MainActor percent, stage in
    ///     print("\(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// Promise: as for a message's closure on the main actor,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2c29b``.
    ///
    /// - Parameters:
    ///   - key: the observed name, and the types that its payloads decode as.
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
    ///   - onUndecodable: receives payloads that do not decode as the key's arguments, in the closure's context. `nil`:
    ///     ``onDiagnostic`` receives them.
    ///   - handler: receives the arguments of each notification.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
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

    /// Calls a closure on the main actor with the ``Envelope`` and the arguments of every notification of a key.
    ///
    /// Calls come one at a time and in order. Otherwise the same as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2nh8a``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
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

    /// Calls an asynchronous closure with the arguments of every notification of a key, one call after the other.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// actor Log { func write(_ line: String) {} }
    /// let log = Log()
    /// let token = try center.addObserver(for: progress) { percent, stage in
    ///     await log.write("\(stage): \(percent) %")
    /// }
    /// ```
    ///
    /// Promise: as for the asynchronous closure of a message,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-9rbiz``.
    ///
    /// - Parameters:
    ///   - key: the observed name, and the types that its payloads decode as.
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
    ///   - onUndecodable: receives payloads that do not decode as the key's arguments, in the closure's context. `nil`:
    ///     ``onDiagnostic`` receives them.
    ///   - executor: the threads on which the closure runs while it is not on an actor with an executor of its own;
    ///     `nil`: threads of the library. A closure that blocks one of the library's threads takes none from the
    ///     program's tasks.
    ///   - handler: receives the arguments of each notification.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory).
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

    /// Calls an asynchronous closure with the ``Envelope`` and the arguments of every notification of a key, one call
    /// after the other.
    ///
    /// Otherwise the same as without the envelope:
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-7vowu``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`.
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

    /// The common implementation of the overloads above.
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
