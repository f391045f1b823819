public import Dispatch

// Methods with the arguments of a key. A key's types are part of what is registered, as a message's type is.
extension SharedNotificationCenter {
    /// Calls a method of an object with the arguments of every notification of a key, one at a time and in order, as long as the object
    /// lives.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// final class ProgressController: Sendable {
    ///     func progressed(_ percent: Int, _ stage: String) { print(stage, percent) }
    /// }
    /// let controller = ProgressController()
    /// try SharedNotificationCenter.default.addTarget(controller, action: ProgressController.progressed, for: progress)
    /// ```
    ///
    /// Promises: as for the method of a message,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``.
    ///
    /// - Parameters:
    ///   - target: whose method is called; weakly held.
    ///   - action: the method, as `ProgressController.progressed`.
    ///   - key: the name that is observed, and what its payloads are decoded as.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
    ///   - excludingOwnPosts: leave out what is posted through this center object.
    ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
    ///   - onMissed: told how many matching notifications were lost, before the next one, in the method's context. `nil`:
    ///     ``onDiagnostic`` is told.
    ///   - onUndecodable: told of payloads that are of another type, in the method's context. `nil`: ``onDiagnostic`` is told.
    ///   - queue: where the method runs; `nil`: on the dispatcher thread.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in
    ///   a center that was opened for reading only), `.forked`, `.system` (no thread, or no memory). Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, each Argument>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> (repeat each Argument) -> Void,
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        queue: DispatchQueue? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .closure(queue) { if let arguments = reading.arguments($1) { action($0)(repeat each arguments) } }
        }
    }

    /// Calls a method of the main actor's with the arguments of every notification of a key, one at a time and in order, as long as the object lives.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// @MainActor final class ProgressController {
    ///     func progressed(_ percent: Int, _ stage: String) { print(stage, percent) }
    /// }
    /// let controller = await ProgressController()
    /// try SharedNotificationCenter.default.addTarget(controller, action: ProgressController.progressed, for: progress)
    /// ```
    ///
    /// Promises: as for the main actor's method of a message,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-52ytg``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    ///   Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, each Argument>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) -> Void,
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .mainActor { if let arguments = reading.arguments($1) { action($0)(repeat each arguments) } }
        }
    }

    /// Calls an asynchronous method of an object with the arguments of every notification of a key, as long as the object lives: the next call starts
    /// when the one before has returned.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// final class ProgressController: Sendable {
    ///     func progressed(_ percent: Int, _ stage: String) async { try? await Task.sleep(for: .seconds(1)) }
    /// }
    /// let controller = ProgressController()
    /// try SharedNotificationCenter.default.addTarget(controller, action: ProgressController.progressed, for: progress)
    /// ```
    ///
    /// Promises: as for the asynchronous method of a message,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-5m2j4``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    ///   Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, each Argument>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> (repeat each Argument) async -> Void,
        for key: Key<repeat each Argument>,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, key, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .task { if let arguments = reading.arguments($1) { await action($0)(repeat each arguments) } }
        }
    }

    /// Ends what a target is registered for with a key, or with that and a subject. Promise and example: ``removeTarget(_:)``.
    ///
    /// - Parameters:
    ///   - target: whose registrations end.
    ///   - key: the key.
    ///   - subject: of which registration; `nil`: all of the key, with and without a subject.
    public func removeTarget<each Argument>(
        _ target: AnyObject, for key: Key<repeat each Argument>, subject: String? = nil
    ) {
        targets.remove(ObjectIdentifier(target)) {
            $0.name == key.name && $0.type == ObjectIdentifier(Key<repeat each Argument>.self)
                && (subject == nil || $0.subject == subject.map { ByteText($0) })
        }
    }

    /// What all of these come to.
    private func register<Target: AnyObject & Sendable, each Argument>(
        _ target: Target, _ key: Key<repeat each Argument>, _ subject: String?, _ start: Start,
        _ excludingOwnPosts: Bool, _ lossless: Bool, _ onMissed: (@Sendable (Int) -> Void)?,
        _ onUndecodable: (@Sendable (UndecodableMessage) -> Void)?,
        as action: (KeyReading<repeat each Argument>) -> TargetTable.Action<Target>
    ) throws(SharedNotificationError) {
        let subscription = Subscription(
            names: [key.name], subject: subject, start: start, excludesOwn: excludingOwnPosts, isLossless: lossless)
        let reading = KeyReading(key, onUndecodable: onUndecodable, in: core)
        try targets.add(
            target, to: core, subscription, of: Key<repeat each Argument>.self, onMissed: ignoringName(onMissed),
            as: action(reading))
    }
}
