// Forwarding of untyped notifications between a shared center and Foundation's `NotificationCenter`.
public import Foundation
public import Tidings

extension SharedNotificationCenter {
    /// Forwards between a shared center and a `NotificationCenter` of this process, until ``cancel()`` or its release.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let bridge = try center.bridge(["com.example.changed"], direction: .inward)
    /// // … notifications of other processes are posted in this process, too …
    /// bridge.cancel()
    /// ```
    public final class NotificationBridge: Sendable {
        /// The direction in which a bridge forwards; ``NotificationBridge`` has an example.
        public enum Direction: Hashable, Sendable {
            /// Posts to the shared center are posted in this process.
            case inward
            /// Posts in this process are posted to the shared center.
            case outward
            /// Both directions. A forwarded notification does not come back.
            case both
        }

        private let ends: [@Sendable () -> Void]

        init(_ ends: [@Sendable () -> Void]) {
            self.ends = ends
        }

        deinit { cancel() }

        /// Ends the bridge. May be called several times and from any thread. ``NotificationBridge`` has an example.
        ///
        /// Promise: after this has returned, nothing more is forwarded, unless this is called from an observer of a
        /// forwarded notification.
        public func cancel() {
            for end in ends { end() }
        }
    }

    /// Forwards notifications of some names between this center and Foundation's `NotificationCenter`.
    ///
    /// Both ways by default, so that programs that use only `NotificationCenter` take part.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let bridge = try center.bridge(["com.example.changed"], with: .default)
    /// let info: [String: Double] = ["volume": 0.5]
    /// // reaches all processes
    /// NotificationCenter.default.post(name: .init("com.example.changed"), object: "player-1", userInfo: info)
    /// ```
    ///
    /// The names are the same on both sides. An object that is a string is the subject; other objects can't be
    /// forwarded. `userInfo` must be a dictionary of property-list values, see ``UserInfo``. It has the fields of what
    /// was posted as a message. A notification that can't be forwarded is dropped, and ``onDiagnostic`` receives the
    /// error.
    ///
    /// Promise: a notification that is posted on one side arrives on the other side once, in the order of posts. It
    /// never comes back, even if several centers and processes are bridged: what came from a shared center is not
    /// forwarded to any shared center. So bridge a name once in a process. What this process posts to the shared center
    /// itself is forwarded inward, as posts of other processes are.
    ///
    /// - Parameters:
    ///   - names: the names to forward. There is no "all", because a `NotificationCenter` has many notifications that
    ///     do not concern other processes.
    ///   - notifications: Foundation's center. Its observers are called inward on `queue`, outward before `post`
    ///     returns. It compares objects by identity: observe `nil`, and compare the notification's object.
    ///   - direction: inward, outward or both.
    ///   - queue: where inward notifications are posted; `nil`: on the dispatcher thread.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.removed`, `.forked`.
    public func bridge(
        _ names: [Name], with notifications: NotificationCenter = .default,
        direction: NotificationBridge.Direction = .both, queue: DispatchQueue? = nil
    ) throws(SharedNotificationError) -> NotificationBridge {
        let forwarding = Forwarding<Untyped>(direction) { _, _ in false }
        var ends: [@Sendable () -> Void] = []
        if direction != .outward {
            let token = try addObserver(forNames: .init(names), options: .init(queue: queue)) { raw in
                if !forwarding.isOwn(raw.envelope) { Untyped(raw).post(to: notifications) }
            }
            ends.append { token.cancel() }
        }
        if direction != .inward {
            for name in names {
                // Only passed back to `removeObserver`, so its type need not be Sendable.
                nonisolated(unsafe) let observer = notifications.addObserver(
                    forName: Foundation.Notification.Name(name.rawValue), object: nil, queue: nil
                ) { [self] notification in
                    do throws(SharedNotificationError) {
                        let untyped = try Untyped(notification)
                        if untyped.isBeingForwarded { return }
                        try forwarding.outward(untyped) { () throws(SharedNotificationError) in
                            try positionOfPost(
                                name: untyped.name, userInfo: untyped.userInfo,
                                options: .init(subject: untyped.object))
                        }
                    } catch { reportPostFailed(name, error) }
                }
                ends.append { notifications.removeObserver(observer) }
            }
        }
        return NotificationBridge(ends)
    }
}

/// A notification with the properties that both sides have.
struct Untyped: Sendable {
    let name: SharedNotificationCenter.Name
    let object: String?
    let userInfo: SharedNotificationCenter.UserInfo?

    init(_ raw: SharedNotificationCenter.Notification) {
        name = raw.name
        object = raw.envelope.subject
        userInfo = raw.userInfo
    }

    init(_ notification: Foundation.Notification) throws(SharedNotificationError) {
        name = .init(notification.name.rawValue)
        func refused(_ what: String) -> SharedNotificationError {
            SharedNotificationError(
                .encodingFailed,
                message: "can't forward \"\(notification.name.rawValue)\" to other processes: \(what)")
        }
        switch notification.object {
        case nil: object = nil
        case let text as String: object = text
        case let other?: throw refused("its object is a \(type(of: other)), and only strings can travel")
        }
        guard let userInfo = notification.userInfo else {
            self.userInfo = nil
            return
        }
        guard let dictionary = SharedNotificationCenter.PropertyValue(userInfo)?.dictionary else {
            throw refused("its userInfo holds something other than property-list values")
        }
        self.userInfo = dictionary
    }

    // MARK: On its way inward

    private static let key = "tidings.inward"

    /// The notifications that this thread is posting inward, the innermost last. This works because
    /// `NotificationCenter` calls observers before `post` returns.
    private static var stack: [Untyped] {
        get { Thread.current.threadDictionary[key] as? [Untyped] ?? [] }
        set { Thread.current.threadDictionary[key] = newValue.isEmpty ? nil : newValue }
    }

    func post(to notifications: NotificationCenter) {
        Self.stack.append(self)
        defer { Self.stack.removeLast() }
        notifications.post(
            name: Foundation.Notification.Name(name.rawValue), object: object,
            userInfo: userInfo.map { $0.mapValues(\.any) })
    }

    /// Whether this equals a notification from a shared center that this thread is posting now. If an observer posts an
    /// equal one itself, that one is not forwarded either.
    var isBeingForwarded: Bool {
        Self.stack.contains { other in
            other.name == name && other.object == object
                && isSame(other.userInfo.map { .dictionary($0) }, userInfo.map { .dictionary($0) })
        }
    }

    private func isSame(
        _ left: SharedNotificationCenter.PropertyValue?, _ right: SharedNotificationCenter.PropertyValue?
    ) -> Bool {
        switch (left, right) {
        // A NaN is not equal to itself, but counts as the same value here.
        case (.double(let left), .double(let right)): left == right || left.isNaN && right.isNaN
        case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy(isSame)
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count && left.allSatisfy { isSame($0.value, right[$0.key]) }
        default: left == right
        }
    }
}
