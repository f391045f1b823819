// Forwarding of types that are messages both of a shared center and of Foundation's `NotificationCenter`.
public import Foundation
public import Tidings

extension SharedNotificationCenter {
    /// Forwards messages of a type between this center and Foundation's `NotificationCenter`.
    ///
    /// The type is a message of both centers.
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
    /// Promise: a message that is posted on one side arrives on the other side once and does not come back, until the
    /// bridge ends. Outward messages are forwarded in the order in which Foundation calls observers, which is not
    /// always the order of posts. A message that came back is recognized by equality, so equal messages may be
    /// exchanged for each other. Inward messages have no subject. Bridge a type once in a process, and with one shared
    /// center. The name that Foundation gives to the type is not used; the type's own `name` is.
    ///
    /// - Parameters:
    ///   - type: the type of the messages.
    ///   - notifications: Foundation's center.
    ///   - direction: inward, outward or both.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.removed`, `.forked`.
    public func bridge<M: Message & NotificationCenter.AsyncMessage & Equatable>(
        _ type: M.Type, with notifications: NotificationCenter = .default,
        direction: NotificationBridge.Direction = .both
    ) throws(SharedNotificationError) -> NotificationBridge where M.Subject: AnyObject {
        let forwarding = Forwarding<M>(direction, isSame: isSame)
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
                forwarding.willMeet(message)
                notifications.post(message)
            }
            ends.append { token.cancel() }
        }
        return NotificationBridge(ends)
    }

    /// Forwards messages of the main actor between this center and Foundation's `NotificationCenter`.
    ///
    /// Both directions keep the order of posts.
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
    ///   - type: the type of the messages.
    ///   - notifications: Foundation's center.
    ///   - direction: inward, outward or both.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.noSpace` (for names), `.tooManyObservers`,
    ///   `.removed`, `.forked`.
    @MainActor
    public func bridge<M: Message & NotificationCenter.MainActorMessage & Equatable>(
        _ type: M.Type, with notifications: NotificationCenter = .default,
        direction: NotificationBridge.Direction = .both
    ) throws(SharedNotificationError) -> NotificationBridge where M.Subject: AnyObject {
        let forwarding = Forwarding<M>(direction, isSame: isSame)
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
                forwarding.willMeet(message)
                notifications.post(message)
            }
            ends.append { token.cancel() }
        }
        return NotificationBridge(ends)
    }

    /// Equal values, or values that encode alike: a value with a NaN is not equal to itself.
    @Sendable private func isSame<M: Message & Equatable>(_ left: M, _ right: M) -> Bool {
        if left == right { return true }
        guard let left = try? RawPayload(encoding: left) else { return false }
        return left == (try? RawPayload(encoding: right))
    }

    private func forward<M: Message & Equatable>(_ message: M, by forwarding: Forwarding<M>) {
        do throws(SharedNotificationError) {
            try forwarding.outward(message) { () throws(SharedNotificationError) in try positionOfPost(message) }
        } catch { reportPostFailed(M.name, error) }
    }
}
