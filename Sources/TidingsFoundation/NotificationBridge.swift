public import Foundation
public import Tidings

extension SharedNotificationCenter {
    /// Keeps forwarding between a shared center and a `NotificationCenter` of this process. It ends with ``cancel()``, or with the object.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let bridge = try center.bridge(["com.example.changed"], direction: .inward)
    /// // … what other processes post is posted here, too …
    /// bridge.cancel()
    /// ```
    public final class NotificationBridge: Sendable {
        /// Which way it forwards; ``NotificationBridge`` has an example.
        public enum Direction: Hashable, Sendable {
            /// What is posted to the shared center is posted in this process.
            case inward
            /// What is posted in this process is posted to the shared center.
            case outward
            /// Both ways, and nothing comes back.
            case both
        }

        private let ends: [@Sendable () -> Void]

        init(_ ends: [@Sendable () -> Void]) {
            self.ends = ends
        }

        deinit { cancel() }

        /// Ends it: when this has returned nothing is forwarded any more, unless it is called from what is being forwarded. Any number of times,
        /// from any thread. ``NotificationBridge`` has an example.
        public func cancel() {
            for end in ends { end() }
        }
    }

    /// Forwards notifications of some names between this center and Foundation's `NotificationCenter`, both ways unless asked otherwise: programs
    /// that know only the latter take part.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let bridge = try center.bridge(["com.example.changed"], with: .default)
    /// NotificationCenter.default.post(name: .init("com.example.changed"), object: "player-1", userInfo: ["volume": 0.5])   // reaches all processes
    /// ```
    ///
    /// A name is a name, an object that is a string is a subject (nothing else can travel), and `userInfo` is a dictionary of property-list values,
    /// see ``UserInfo``; what was posted as a message has its fields there. What can't travel is not forwarded, and ``onDiagnostic`` is told.
    ///
    /// Promise: what is posted on one side arrives on the other once, in the order of posts, and never comes back, however many centers and
    /// processes are bridged: what came from a shared center is not forwarded to any. So bridge a name once in a process.
    /// What this process posts to the shared center itself is forwarded inward as anybody's.
    ///
    /// - Parameters:
    ///   - names: which. There is no "all": a `NotificationCenter` has much that concerns nobody else.
    ///   - notifications: the other side. Its observers run where the notification comes: inward on the queue, outward before `post` returns.
    ///     Mind that it compares objects by identity: observe `nil`, and look at the notification's object.
    ///   - direction: which way.
    ///   - queue: where inward ones are posted; `nil`: on the dispatcher thread.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.forked`.
    public func bridge(
        _ names: [Name], with notifications: NotificationCenter = .default,
        direction: NotificationBridge.Direction = .both, queue: DispatchQueue? = nil
    ) throws(SharedNotificationError) -> NotificationBridge {
        let forwarding = Forwarding<Untyped> { _, _ in false }
        var ends: [@Sendable () -> Void] = []
        if direction != .outward {
            let token = try addObserver(forNames: names, queue: queue) { raw in
                if !forwarding.isOwn(raw.envelope) { Untyped(raw).post(to: notifications) }
            }
            ends.append { token.cancel() }
        }
        if direction != .inward {
            for name in names {
                // What identifies the observer is only handed back.
                nonisolated(unsafe) let observer = notifications.addObserver(
                    forName: Foundation.Notification.Name(name.rawValue), object: nil, queue: nil
                ) { [self] notification in
                    do throws(SharedNotificationError) {
                        let untyped = try Untyped(notification)
                        if untyped.isBeingForwarded { return }
                        try forwarding.outward(untyped) { () throws(SharedNotificationError) in
                            try post(name: untyped.name, object: untyped.object, userInfo: untyped.userInfo)
                        }
                    } catch { reportPostFailed(name, error) }
                }
                ends.append { notifications.removeObserver(observer) }
            }
        }
        return NotificationBridge(ends)
    }
}

/// What both sides know of a notification.
struct Untyped: Sendable {
    let name: SharedNotificationCenter.Name
    let object: String?
    let userInfo: SharedNotificationCenter.UserInfo?

    init(_ raw: SharedNotificationCenter.RawNotification) {
        name = raw.name
        object = raw.envelope.subject
        userInfo =
            raw.payload.bytes.isEmpty
            ? nil : (try? raw.payload.decode(SharedNotificationCenter.PropertyValue.self))?.dictionary
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

    /// Of this thread, the innermost last: observers are called before `post` returns.
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

    /// Equal to one that came from a shared center and is being posted right now. An observer that posts an equal one in turn makes no
    /// difference to that.
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
        // What isn't a number is equal to nothing, but here it is the same.
        case (.double(let left), .double(let right)): left == right || left.isNaN && right.isNaN
        case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy(isSame)
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count && left.allSatisfy { isSame($0.value, right[$0.key]) }
        default: left == right
        }
    }
}
