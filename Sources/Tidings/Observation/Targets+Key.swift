// Targets of keys: registered methods with the arguments of a key. The key's types identify a registration, as a
// message's type does.

public import Dispatch

extension SharedNotificationCenter {
    /// Calls a method of an object with the arguments of every notification of a key, while the object is alive.
    ///
    /// Calls come one at a time and in order.
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
    /// Promise: as for the method of a message,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-5tne8``.
    ///
    /// - Parameters:
    ///   - target: the object whose method is called; the center holds it weakly.
    ///   - action: the method, as `ProgressController.progressed`.
    ///   - key: the observed name, and the types that its payloads decode as.
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

    /// Calls a method on the main actor with the arguments of every notification of a key, while the object is alive.
    ///
    /// Calls come one at a time and in order.
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
    /// Promise: as for a message's method on the main actor,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-52ytg``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`. On an error nothing has changed.
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

    /// Calls an asynchronous method of an object with the arguments of every notification of a key, while the object is
    /// alive.
    ///
    /// The next call starts after the previous call has returned.
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
    /// Promise: as for the asynchronous method of a message,
    /// ``addTarget(_:action:for:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:)-5m2j4``.
    ///
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.notPermitted`, `.forked`, `.system`. On an error nothing has changed.
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

    /// Ends a target's registrations for a key, or for a key and a subject.
    ///
    /// Promise and example: ``removeTarget(_:)``.
    ///
    /// - Parameters:
    ///   - target: the object whose registrations end.
    ///   - key: the key.
    ///   - subject: the subject of the registration; `nil`: all registrations for the key, with and without a subject.
    public func removeTarget<each Argument>(
        _ target: AnyObject, for key: Key<repeat each Argument>, subject: String? = nil
    ) {
        targets.remove(ObjectIdentifier(target)) {
            $0.name == key.name && $0.type == ObjectIdentifier(Key<repeat each Argument>.self)
                && (subject == nil || $0.subject == subject.map { ByteText($0) })
        }
    }

    /// The common implementation of the overloads above.
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
