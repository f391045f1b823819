public import Dispatch

// Methods of objects: dispatcher thread or queue, main actor, task × with or without the envelope. Which one is meant shows in the method.
extension SharedNotificationCenter {
    /// Calls a method of an object for every message of a type, one at a time and in order, as long as the object lives.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// final class PlayerController: Sendable {
    ///     func trackChanged(_ change: TrackChanged) { print(change.title) }
    /// }
    /// let controller = PlayerController()
    /// let center = try SharedNotificationCenter.default
    /// try center.addTarget(controller, action: PlayerController.trackChanged, for: TrackChanged.self)
    /// center.removeTarget(controller)
    /// ```
    ///
    /// Promise: as for a closure, and
    /// - the target is held weakly: when it is gone nothing is called any more, and the registration ends by itself (at the latest with the
    ///   next notification). While the method runs, the target lives.
    /// - A target has one action for each message type and subject. Added again it is still called once, with the options of the first time,
    ///   and nothing is lost or repeated by it. Functions can't be compared, so another action takes the place of the one before.
    /// - All actions of one target keep one order, for all its message types, keys and subjects, wherever they run: at most one of them runs at a
    ///   time, and one that takes long makes the target's others wait. Registrations with a thread of their own (`lossless`, or `from` anything
    ///   but `.now`) are in order each by itself.
    /// - When ``removeTarget(_:)`` has returned, no action of the target is running (unless it is the caller) or will run.
    /// - The registrations belong to this center object and end with it.
    ///
    /// The method may be one of the main actor's, or asynchronous: it then runs as such a closure would.
    ///
    /// - Parameters:
    ///   - target: whose method is called; weakly held.
    ///   - action: the method, as `PlayerController.trackChanged`.
    ///   - type: the message type; its ``Message/name`` is what is observed.
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
    public func addTarget<Target: AnyObject & Sendable, M: Message>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> (M) -> Void,
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        queue: DispatchQueue? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .closure(queue) { if let message = reading.message($1) { action($0)(message) } }
        }
    }

    /// Calls a method of an object with every message of a type and its ``Envelope``, one at a time and in order, as long as the object lives.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// final class PlayerController: Sendable {
    ///     func trackChanged(_ change: TrackChanged, _ envelope: SharedNotificationCenter.Envelope) { print(envelope.poster.pid, change.title) }
    /// }
    /// let controller = PlayerController()
    /// try SharedNotificationCenter.default.addTarget(controller, action: PlayerController.trackChanged, for: TrackChanged.self)
    /// ```
    ///
    /// Otherwise as without the envelope: ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    ///   Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, M: Message>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> (M, Envelope) -> Void,
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
        queue: DispatchQueue? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .closure(queue) { if let message = reading.message($1) { action($0)(message, $1.envelope) } }
        }
    }

    /// Calls a method of the main actor's for every message of a type, one at a time and in order, as long as the object lives.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// @MainActor final class PlayerController {
    ///     func trackChanged(_ change: TrackChanged) { print(change.title) }
    /// }
    /// let controller = await PlayerController()
    /// try SharedNotificationCenter.default.addTarget(controller, action: PlayerController.trackChanged, for: TrackChanged.self)
    /// ```
    ///
    /// Promise, and what the parameters mean: as for any method,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``. How many may wait for the main actor:
    /// as for its closures, ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2c29b``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    ///   Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, M: Message>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> @MainActor (M) -> Void,
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .mainActor { if let message = reading.message($1) { action($0)(message) } }
        }
    }

    /// Calls a method of the main actor's with every message of a type and its ``Envelope``, one at a time and in order, as long as the object lives.
    ///
    /// Otherwise as without the envelope: ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-52ytg``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    ///   Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, M: Message>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> @MainActor (M, Envelope) -> Void,
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .mainActor { if let message = reading.message($1) { action($0)(message, $1.envelope) } }
        }
    }

    /// Calls an asynchronous method of an object for every message of a type, as long as the object lives: the next call starts when the one before
    /// has returned.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// actor Playlist {
    ///     var titles: [String] = []
    ///     nonisolated func trackChanged(_ change: TrackChanged) async { await add(change.title) }
    ///     func add(_ title: String) { titles.append(title) }
    /// }
    /// let playlist = Playlist()
    /// try SharedNotificationCenter.default.addTarget(playlist, action: Playlist.trackChanged, for: TrackChanged.self)
    /// ```
    ///
    /// Promise, and what the parameters mean: as for any method,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``. How many may wait for it: as for
    /// asynchronous closures,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-(_,_,_,_,_,_,_,_,(M)->Void)``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    ///   Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, M: Message>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> (M) async -> Void,
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .task { if let message = reading.message($1) { await action($0)(message) } }
        }
    }

    /// Calls an asynchronous method of an object with every message of a type and its ``Envelope``, as long as the object lives.
    ///
    /// Otherwise as without the envelope: ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-5m2j4``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    ///   Nothing has changed then.
    public func addTarget<Target: AnyObject & Sendable, M: Message>(
        _ target: Target,
        action: @escaping @Sendable (Target) -> (M, Envelope) async -> Void,
        for type: M.Type = M.self,
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false,
        onMissed: (@Sendable (Int) -> Void)? = nil,
        onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
    ) throws(SharedNotificationError) {
        try register(
            target, type, subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable
        ) { reading in
            .task { if let message = reading.message($1) { await action($0)(message, $1.envelope) } }
        }
    }

    /// Ends everything that a target is registered for. From any thread, and any number of times.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// final class PlayerController: Sendable {
    ///     func trackChanged(_ change: TrackChanged) { print(change.title) }
    /// }
    /// let (center, controller) = (try SharedNotificationCenter.default, PlayerController())
    /// try center.addTarget(controller, action: PlayerController.trackChanged, for: TrackChanged.self, subject: "player-1")
    /// center.removeTarget(controller, for: TrackChanged.self, subject: "player-1")        // this registration
    /// center.removeTarget(controller, for: TrackChanged.self)                             // all of this type
    /// center.removeTarget(controller)                                                     // all there are
    /// ```
    ///
    /// Promise: when this has returned, none of its actions is running (unless it is the caller) and none will run again; asynchronous ones
    /// with the exception that ``ObservationToken/cancel()`` has. May be called from the target's `deinit`, and from an action.
    public func removeTarget(_ target: AnyObject) {
        targets.remove(ObjectIdentifier(target)) { _ in true }
    }

    /// Ends what a target is registered for with a message type, or with that and a subject. Promise and example: ``removeTarget(_:)``.
    ///
    /// - Parameters:
    ///   - target: whose registrations end.
    ///   - type: the message type.
    ///   - subject: of which registration; `nil`: all of the type, with and without a subject.
    public func removeTarget<M: Message>(_ target: AnyObject, for type: M.Type, subject: String? = nil) {
        targets.remove(ObjectIdentifier(target)) {
            $0.type == ObjectIdentifier(type) && (subject == nil || $0.subject == subject.map { ByteText($0) })
        }
    }

    /// What all of these come to.
    private func register<Target: AnyObject & Sendable, M: Message>(
        _ target: Target, _ type: M.Type, _ subject: String?, _ start: Start, _ excludingOwnPosts: Bool,
        _ lossless: Bool, _ onMissed: (@Sendable (Int) -> Void)?,
        _ onUndecodable: (@Sendable (UndecodableMessage) -> Void)?,
        as action: (Reading<M>) -> TargetTable.Action<Target>
    ) throws(SharedNotificationError) {
        let subscription = Subscription(
            names: [M.name], subject: subject, start: start, excludesOwn: excludingOwnPosts, isLossless: lossless)
        let reading = Reading(type, onUndecodable: onUndecodable, in: core)
        try targets.add(target, to: core, subscription, of: type, onMissed: ignoringName(onMissed), as: action(reading))
    }
}
