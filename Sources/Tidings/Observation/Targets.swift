// Targets of messages: registered methods of objects. There are six overloads: the method runs on a dispatcher thread
// or queue, on the main actor, or in a task, each with or without the envelope. The compiler selects the overload by
// the method's type.

public import Dispatch

extension SharedNotificationCenter {
    /// Calls a method of an object for every message of a type, one at a time and in order, while the object is alive.
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
    /// - The center holds the target weakly. After the target is released, no method is called. The registration then
    ///   ends, at the latest with the next notification. The target stays alive while a method runs.
    /// - A target has one action for each message type and subject. If it is added again, it is still called once, with
    ///   the options of the first call. No notification is lost or repeated. Functions can't be compared, so another
    ///   action replaces the previous one.
    /// - All actions of one target run in one order, for all its message types, keys and subjects, wherever they run.
    ///   At most one of them runs at a time, so a slow action delays the target's other actions. A registration with a
    ///   thread of its own (`lossless`, or `from` any value except `.now`) has an order of its own.
    /// - After ``removeTarget(_:)`` has returned, no action of the target runs again. None is running, except an action
    ///   that made the call.
    /// - The registrations belong to this center object and end with it.
    ///
    /// The method may belong to the main actor, or be asynchronous: it then runs as such a closure would.
    ///
    /// - Parameters:
    ///   - target: the object whose method is called; the center holds it weakly.
    ///   - action: the method, as `PlayerController.trackChanged`.
    ///   - type: the message type; the observer observes its ``Message/name``.
    ///   - subject: only notifications posted with this subject; `nil`: all notifications.
    ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
    ///     thread.
    ///   - excludingOwnPosts: leaves out notifications that this center object posts.
    ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received. Such
    ///     a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an observer slot
    ///     of the center and a thread.
    ///   - onMissed: receives the number of lost matching notifications before the next notification, in the method's
    ///     context. `nil`: ``onDiagnostic`` receives it.
    ///   - onUndecodable: receives payloads of another type, in the method's context. `nil`: ``onDiagnostic`` receives
    ///     them.
    ///   - queue: where the method runs; `nil`: on the dispatcher thread.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
    ///   thread, or no memory). On an error nothing has changed.
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

    /// Calls a method of an object with every message of a type and its ``Envelope``, while the object is alive.
    ///
    /// Calls come one at a time and in order.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// final class PlayerController: Sendable {
    ///     func trackChanged(_ change: TrackChanged, _ envelope: SharedNotificationCenter.Envelope) {
    ///         print(envelope.poster.pid, change.title)
    ///     }
    /// }
    /// let controller = PlayerController()
    /// let center = try SharedNotificationCenter.default
    /// try center.addTarget(controller, action: PlayerController.trackChanged, for: TrackChanged.self)
    /// ```
    ///
    /// Otherwise the same as without the envelope:
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`. On an error nothing has changed.
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

    /// Calls a method on the main actor for every message of a type, one at a time and in order, while the object is
    /// alive.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// @MainActor final class PlayerController {
    ///     func trackChanged(_ change: TrackChanged) { print(change.title) }
    /// }
    /// let controller = await PlayerController()
    /// let center = try SharedNotificationCenter.default
    /// try center.addTarget(controller, action: PlayerController.trackChanged, for: TrackChanged.self)
    /// ```
    ///
    /// Promise and parameters: as for any method,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``.
    /// How many notifications may wait for the main actor: as for its closures,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:using:)-2c29b``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`. On an error nothing has changed.
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

    /// Calls a method on the main actor with every message of a type and its ``Envelope``, while the object is alive.
    ///
    /// Calls come one at a time and in order. Otherwise the same as without the envelope:
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-52ytg``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`. On an error nothing has changed.
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

    /// Calls an asynchronous method of an object for every message of a type, while the object is alive.
    ///
    /// The next call starts after the previous call has returned.
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
    /// Promise and parameters: as for any method,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``.
    /// How many notifications may wait for the method: as for asynchronous closures,
    /// ``addObserver(for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:executor:using:)-9rbiz``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`. On an error nothing has changed.
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

    /// Calls an asynchronous method of an object with every message of a type and its ``Envelope``, while the object is
    /// alive.
    ///
    /// Otherwise the same as without the envelope:
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-5m2j4``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`. On an error nothing has changed.
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

    /// Ends all registrations of a target. From any thread, and any number of times.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// final class PlayerController: Sendable {
    ///     func trackChanged(_ change: TrackChanged) { print(change.title) }
    /// }
    /// let (center, controller) = (try SharedNotificationCenter.default, PlayerController())
    /// try center.addTarget(
    ///     controller, action: PlayerController.trackChanged, for: TrackChanged.self, subject: "player-1")
    /// center.removeTarget(controller, for: TrackChanged.self, subject: "player-1")        // this registration
    /// center.removeTarget(controller, for: TrackChanged.self)                             // all of this type
    /// center.removeTarget(controller)                                                     // all there are
    /// ```
    ///
    /// Promise: after this call has returned, no action of the target runs again. None is running, except an action
    /// that made the call. Asynchronous actions have the same exception as for ``ObservationToken/cancel()``. The
    /// target's `deinit` and actions may call this.
    public func removeTarget(_ target: AnyObject) {
        targets.remove(ObjectIdentifier(target)) { _ in true }
    }

    /// Ends a target's registrations for a message type, or for a message type and a subject.
    ///
    /// Promise and example: ``removeTarget(_:)``.
    ///
    /// - Parameters:
    ///   - target: the object whose registrations end.
    ///   - type: the message type.
    ///   - subject: the subject of the registration; `nil`: all registrations for the type, with and without a subject.
    public func removeTarget<M: Message>(_ target: AnyObject, for type: M.Type, subject: String? = nil) {
        targets.remove(ObjectIdentifier(target)) {
            $0.type == ObjectIdentifier(type) && (subject == nil || $0.subject == subject.map { ByteText($0) })
        }
    }

    /// The common implementation of the overloads above.
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
