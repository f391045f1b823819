// Registering a closure for messages of a type, for a key's arguments, and for untyped notifications. A closure runs in
// its own isolation. The compiler selects an overload by the closure's parameters and by whether it is asynchronous.
// Also: an observer for an event loop.

extension SharedNotificationCenter {
    /// Calls a closure for every message of a type, one at a time and in order.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self) { print($0.title) }
    /// let onMain = try center.addObserver(for: TrackChanged.self) { @MainActor change in print(change.title) }
    /// token.cancel()
    /// ```
    ///
    /// Promise: the closure receives every matching notification that is posted after this call has returned, once. A
    /// retained notification, if there is one, comes before them. After the token's ``ObservationToken/cancel()`` has
    /// returned, the closure is not running and does not run again, unless the closure itself made that call.
    ///
    /// The closure runs in its own isolation: a `@MainActor` closure on the main actor, an asynchronous closure in a
    /// task, and any other closure on the options' ``ObserverOptions/queue``. Without a queue it runs on the center
    /// object's dispatcher thread. This avoids a thread switch, so keep the closure short. If it takes longer than
    /// about 50 ms, it is set aside with its thread, and another thread serves the other observers. Running and blocked
    /// time counts; time spent waiting for a processor does not.
    ///
    /// Except on the dispatcher thread, up to 8,192 notifications or 64 MiB wait for a closure. From a suspension
    /// until none waits any more, it is as many more as a suspension can hold. Beyond that, the oldest are dropped and
    /// reported as missed. With ``ObserverOptions/isLossless``, posts are held back instead.
    ///
    /// - Parameters:
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - options: the subject, the start, the queue, and what happens to losses.
    ///   - handler: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released (with ``ObserverOptions/owner``: when the owner is released).
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.invalidArgument` (a queue for a
    ///   closure with an isolation, or an executor for one that is not asynchronous), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.removed` (the center has
    ///   ended, and this object does not follow its name), `.otherIncarnation` (a start in the order of another
    ///   center), `.forked`, `.system` (no thread, or no memory).
    public func addObserver<M: Message>(
        for type: M.Type = M.self, options: ObserverOptions = ObserverOptions(),
        using handler: @escaping @isolated(any) @Sendable (M) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let reading = Reading(type, onUndecodable: options.onUndecodable, in: core)
        // The manner runs it in its isolation. `@isolated(any)` adds an actor in front of the closure's context, which
        // the closure's code does not read: the call of the plain type is the same.
        let plain = unsafeBitCast(handler, to: (@Sendable (M) -> Void).self)
        return try observe(
            [M.name], options, of: type, as: options.manner(isolation: handler.isolation) { reading.read($0, plain) })
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
    /// - Throws: as without the envelope, `addObserver(for:options:using:)`.
    public func addObserver<M: Message>(
        for type: M.Type = M.self, options: ObserverOptions = ObserverOptions(),
        using handler: @escaping @isolated(any) @Sendable (M, Envelope) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let reading = Reading(type, onUndecodable: options.onUndecodable, in: core)
        // As above.
        let plain = unsafeBitCast(handler, to: (@Sendable (M, Envelope) -> Void).self)
        return try observe(
            [M.name], options, of: type,
            as: options.manner(isolation: handler.isolation) { arrival in
                reading.read(arrival) { plain($0, arrival.envelope) }
            })
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
    /// Promise: as for a closure that is not asynchronous. The next call starts after the previous call has returned.
    /// Cancelling the token also cancels the task of a running call. ``ObservationToken/cancel()`` says when it waits
    /// for that call.
    ///
    /// - Throws: as for a closure that is not asynchronous, `addObserver(for:options:using:)`.
    public func addObserver<M: Message>(
        for type: M.Type = M.self, options: ObserverOptions = ObserverOptions(),
        using handler: @escaping @Sendable (M) async -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let reading = Reading(type, onUndecodable: options.onUndecodable, in: core)
        return try observe(
            [M.name], options, of: type,
            as: options.manner { if let message = reading.message($0) { await handler(message) } })
    }

    /// Calls an asynchronous closure with every message of a type and its ``Envelope``, one call after the other:
    /// otherwise as `addObserver(for:options:using:)` without the envelope.
    ///
    /// - Throws: as without the envelope, `addObserver(for:options:using:)`.
    public func addObserver<M: Message>(
        for type: M.Type = M.self, options: ObserverOptions = ObserverOptions(),
        using handler: @escaping @Sendable (M, Envelope) async -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let reading = Reading(type, onUndecodable: options.onUndecodable, in: core)
        return try observe(
            [M.name], options, of: type,
            as: options.manner { if let message = reading.message($0) { await handler(message, $0.envelope) } })
    }

    /// Calls a closure with the arguments of every notification of a key, one at a time and in order.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: progress) { percent, stage in print(percent, stage) }
    /// ```
    ///
    /// Promise and isolation: as for a message. A program that needs the envelope iterates over the key's
    /// `deliveries(of:…)` instead.
    ///
    /// - Throws: as for a message, `addObserver(for:options:using:)`.
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>, options: ObserverOptions = ObserverOptions(),
        using handler: @escaping @isolated(any) @Sendable (repeat each Argument) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let reading = KeyReading(key, onUndecodable: options.onUndecodable, in: core)
        // As above; in structures, because the compiler does not pass a function with a parameter pack as a value.
        let plain = unsafeBitCast(
            IsolatedHandler(closure: handler), to: PlainHandler<repeat each Argument>.self
        ).closure
        return try observe(
            [key.name], options, of: Key<repeat each Argument>.self,
            as: options.manner(isolation: handler.isolation) {
                if let arguments = reading.arguments($0) { plain(repeat each arguments) }
            })
    }

    /// Calls an asynchronous closure with the arguments of every notification of a key, one call after the other.
    /// Promise: as for the asynchronous closure of a message.
    ///
    /// - Throws: as for a message, `addObserver(for:options:using:)`.
    public func addObserver<each Argument>(
        for key: Key<repeat each Argument>, options: ObserverOptions = ObserverOptions(),
        using handler: @escaping @Sendable (repeat each Argument) async -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        let reading = KeyReading(key, onUndecodable: options.onUndecodable, in: core)
        return try observe(
            [key.name], options, of: Key<repeat each Argument>.self,
            as: options.manner { if let arguments = reading.arguments($0) { await handler(repeat each arguments) } })
    }

    /// Calls a closure for every notification of some names, of names with a prefix, or of all names.
    ///
    /// The notifications arrive untyped, whatever their poster posted: see ``Notification``. Calls come one at a time,
    /// and the notifications of all names in one order. Each notification arrives once, even if it matches several
    /// names and prefixes.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: .prefix("com.example.player."), options: .init(queue: .main)) {
    ///     print($0.name, $0.object ?? "no object", $0.payload.json)
    /// }
    /// ```
    ///
    /// Promise and isolation: as for a message. A subject selects the notifications posted about that object. For a
    /// prefix, ``ObserverOptions/onMissed`` receives one number for all its names and subjects, and the prefix followed
    /// by `*`.
    ///
    /// - Parameters:
    ///   - names: the observed names.
    ///   - options: the subject, the start, the queue, and what happens to losses. Every payload is delivered, so
    ///     ``ObserverOptions/onUndecodable`` has no effect.
    ///   - suspensionBehavior: what happens to notifications that arrive while ``isSuspended`` is true, for each name
    ///     separately.
    ///   - handler: receives each notification.
    /// - Returns: a token, as for a message.
    /// - Throws: as for a message, `addObserver(for:options:using:)`; also `.invalidName` and `.noSpace` for a prefix,
    ///   `.invalidArgument` if there is neither a name nor a prefix, and `.notPermitted` for a prefix in a center
    ///   opened read-only, which allows observing all names.
    public func addObserver(
        forNames names: Names, options: ObserverOptions = ObserverOptions(),
        suspensionBehavior: SuspensionBehavior = .coalesce,
        using handler: @escaping @isolated(any) @Sendable (Notification) -> Void
    ) throws(SharedNotificationError) -> ObservationToken {
        // As above.
        let plain = unsafeBitCast(handler, to: (@Sendable (Notification) -> Void).self)
        return try observe(
            names, options, of: Notification.self, suspensionBehavior,
            as: options.manner(isolation: handler.isolation) { plain($0.notification) })
    }

    /// Starts to observe some names or prefixes, or all names, for an event loop, as ``PollableObserver`` promises and
    /// shows.
    ///
    /// - Parameters:
    ///   - names: the observed names.
    ///   - options: the subject and the start. The loop receives losses itself, so ``ObserverOptions/onMissed``, a
    ///     queue, an executor and an owner have no effect.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument` (neither a name nor a prefix),
    ///   `.noSpace` (for names, or prefixes), `.tooManyObservers`, `.notPermitted` (lossless or a prefix, in a center
    ///   opened read-only), `.removed`, `.otherIncarnation`, `.forked`, `.system` (no descriptor, thread or memory).
    public func pollableObserver(
        forNames names: Names, options: ObserverOptions = ObserverOptions()
    ) throws(SharedNotificationError) -> PollableObserver {
        try PollableObserver(options.subscription(to: names), in: core)
    }

    /// Ends all observations whose ``ObserverOptions/owner`` is this object, and all that were registered for it by a
    /// protocol.
    ///
    /// ```swift
    /// final class Controller: Sendable {}
    /// let (center, controller) = (try SharedNotificationCenter.default, Controller())
    /// _ = try center.addObserver(forNames: .all, options: .init(owner: controller)) { print($0.name) }
    /// center.removeObservers(of: controller)
    /// ```
    ///
    /// Promise: after the call has returned, no closure or method of the object runs again, and none is running, with
    /// the exceptions of ``ObservationToken/cancel()``: one that made the call, one of those that cancel each other,
    /// and, inside a task or on the main thread, asynchronous closures. An object without observations is not an error.
    public func removeObservers(of owner: AnyObject) {
        #if Macros
            protocolObservers.remove(ObjectIdentifier(owner))
        #endif
        owners.remove(ObjectIdentifier(owner))
    }

    /// The common implementation of the functions above.
    private func observe(
        _ names: Names, _ options: ObserverOptions, of type: Any.Type,
        _ behavior: SuspensionBehavior = .deliverImmediately, as manner: Manner
    ) throws(SharedNotificationError) -> ObservationToken {
        let subscription = options.subscription(to: names)
        var onMissed = options.onMissed
        if let owner = options.owner, let told = onMissed {
            onMissed = { [weak owner] count, name in if owner != nil { told(count, name) } }
        }
        func observe(
            of object: ObjectIdentifier?, as manner: Manner
        ) throws(SharedNotificationError) -> ObservationAnchor {
            try suspension.add(behavior) { (held, isSuspended) throws(SharedNotificationError) in
                try core.observe(
                    subscription, onMissed: onMissed, held: held, isSuspended: isSuspended, of: object,
                    as: manner)
            }
        }
        guard let owner = options.owner else { return ObservationToken(anchor: try observe(of: nil, as: manner)) }
        let registrationKey = OwnerTable.RegistrationKey(
            names: names.names.map { Set($0) }, prefixes: Set(names.prefixes.map { ByteText($0) }),
            type: ObjectIdentifier(type), subject: options.subject.map { ByteText($0) })
        return ObservationToken(
            anchor: try owners.anchor(for: owner, registrationKey, as: manner, in: core) {
                (object, manner) throws(SharedNotificationError) in try observe(of: object, as: manner)
            })
    }
}

private struct IsolatedHandler<each Argument> {
    let closure: @isolated(any) @Sendable (repeat each Argument) -> Void
}

private struct PlainHandler<each Argument> {
    let closure: @Sendable (repeat each Argument) -> Void
}
