public import Foundation
public import Tidings

// Types that are messages on both sides.
extension SharedNotificationCenter {
    /// Forwards messages of a type between this center and Foundation's `NotificationCenter`, whose message it is as well.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message, NotificationCenter.AsyncMessage, Equatable {
    ///     typealias Subject = AnyObject
    ///     static var name: SharedNotificationCenter.Name { "com.example.player.trackChanged" }
    ///     var title: String
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let bridge = try center.bridge(TrackChanged.self, with: .default)
    /// ```
    ///
    /// Promise: what is posted on one side arrives on the other once, and does not come back, until the bridge ends. Outward in the order in
    /// which Foundation calls observers, which is not always that of posts. What came back is told from what is new by being equal, so of equal
    /// ones it doesn't matter which. Inward without a subject. Bridge a type once in a process, and with one shared center. Foundation's own
    /// name for it, which says nothing here, is that of the type.
    ///
    /// - Parameters:
    ///   - type: which.
    ///   - notifications: the other side.
    ///   - direction: which way.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.forked`.
    public func bridge<M: Message & NotificationCenter.AsyncMessage & Equatable>(
        _ type: M.Type, with notifications: NotificationCenter = .default,
        direction: NotificationBridge.Direction = .both
    ) throws(SharedNotificationError) -> NotificationBridge where M.Subject: AnyObject {
        let forwarding = Forwarding<M>(isSame: isSame)
        var ends: [@Sendable () -> Void] = []
        if direction != .inward {
            let token = notifications.addObserver(of: nil, for: M.self) { [self] message in
                forward(message, by: forwarding)
            }
            ends.append { notifications.removeObserver(token) }
        }
        if direction != .outward {
            let token = try addObserver(for: M.self) { message, envelope in
                if forwarding.isOwn(envelope) { return }
                if direction == .both { forwarding.willMeet(message) }
                notifications.post(message)
            }
            ends.append { token.cancel() }
        }
        return NotificationBridge(ends)
    }

    /// Forwards messages of the main actor of a type between this center and Foundation's `NotificationCenter`, in the order of posts both ways.
    ///
    /// ```swift
    /// struct Paused: SharedNotificationCenter.Message, NotificationCenter.MainActorMessage, Equatable {
    ///     typealias Subject = AnyObject
    ///     static var name: SharedNotificationCenter.Name { "com.example.player.paused" }
    ///     var at: Double
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let bridge = try center.bridge(Paused.self, with: .default)
    /// NotificationCenter.default.post(Paused(at: 12.5))       // reaches all processes
    /// ```
    ///
    /// Otherwise as for messages of any thread.
    ///
    /// - Parameters:
    ///   - type: which.
    ///   - notifications: the other side.
    ///   - direction: which way.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.forked`.
    @MainActor
    public func bridge<M: Message & NotificationCenter.MainActorMessage & Equatable>(
        _ type: M.Type, with notifications: NotificationCenter = .default,
        direction: NotificationBridge.Direction = .both
    ) throws(SharedNotificationError) -> NotificationBridge where M.Subject: AnyObject {
        let forwarding = Forwarding<M>(isSame: isSame)
        var ends: [@Sendable () -> Void] = []
        if direction != .inward {
            let token = notifications.addObserver(of: nil, for: M.self) { [self] message in
                forward(message, by: forwarding)
            }
            ends.append { notifications.removeObserver(token) }
        }
        if direction != .outward {
            let token = try addObserver(for: M.self) { @MainActor message, envelope in
                if forwarding.isOwn(envelope) { return }
                if direction == .both { forwarding.willMeet(message) }
                notifications.post(message)
            }
            ends.append { token.cancel() }
        }
        return NotificationBridge(ends)
    }

    /// What holds a number that isn't one is equal to nothing, not even to itself.
    @Sendable private func isSame<M: Message & Equatable>(_ left: M, _ right: M) -> Bool {
        if left == right { return true }
        guard let left = try? RawPayload(encoding: left) else { return false }
        return left == (try? RawPayload(encoding: right))
    }

    private func forward<M: Message & Equatable>(_ message: M, by forwarding: Forwarding<M>) {
        do throws(SharedNotificationError) {
            try forwarding.outward(message) { () throws(SharedNotificationError) in try post(message) }
        } catch { reportPostFailed(M.name, error) }
    }
}
