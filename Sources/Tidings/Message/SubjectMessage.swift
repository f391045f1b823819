extension SharedNotificationCenter {
    /// A type whose values are posted and observed on the main actor, as Foundation's `NotificationCenter.MainActorMessage`.
    ///
    /// ```swift
    /// final class Player: Sendable {}
    /// struct TrackChanged: SharedNotificationCenter.MainActorMessage {
    ///     typealias Subject = Player
    ///     var title: String
    /// }
    /// extension SharedNotificationCenter.MessageIdentifier
    /// where Self == SharedNotificationCenter.BaseMessageIdentifier<TrackChanged> {
    ///     static var trackChanged: Self { .init() }
    /// }
    /// @MainActor func follow(_ player: Player, in center: SharedNotificationCenter) {
    ///     let token = center.addObserver(of: player, for: .trackChanged) { print($0.title) }
    ///     center.post(TrackChanged(title: "So What"), subject: player)       // printed by now
    ///     center.removeObserver(token)
    /// }
    /// ```
    ///
    /// Promise: when a post has returned, this center object's own observers of it have been called, in the center's one order, so after
    /// whatever came before from other processes. An observer that is being called at that moment (it is the poster) is called after it has
    /// returned. Other center objects and other processes are called on their main actors, as soon as these get to it.
    ///
    /// What differs from Foundation: values are `Codable`, as they travel; each observer gets its own copy. The name is the same in all processes,
    /// and so is a subject that is `Identifiable` by a text, a number or a `UUID`; any other object is the subject of its own process only.
    /// Posting and observing do not throw: failures are told to ``onDiagnostic``. In other processes a ``Message`` of the same name with the same
    /// fields, or the untyped ``Notification``, gets it as well.
    public protocol MainActorMessage: Codable, SendableMetatype {
        /// Whom or what it can be about.
        associatedtype Subject

        /// The name its notifications have, the same in all processes. Default: the type's own name without its module.
        static var name: Name { get }
    }

    /// A type whose values are posted and observed anywhere, as Foundation's `NotificationCenter.AsyncMessage`.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let token = center.addObserver(for: BookAdded.self) { book in print(book.title) }
    /// center.post(BookAdded(title: "Solaris"))
    /// ```
    ///
    /// Promise: each observer is called one at a time and in the center's one order, in a task of its own. When a post has returned, this center
    /// object's own sequences (`messages(of:for:bufferSize:)`) have it in their buffers. What differs from Foundation: as for
    /// ``MainActorMessage``.
    public protocol AsyncMessage: Codable, Sendable {
        /// Whom or what it can be about.
        associatedtype Subject

        /// The name its notifications have, the same in all processes. Default: the type's own name without its module.
        static var name: Name { get }
    }

    /// A short spelling for a message type where observers are added: `.trackChanged`. ``MainActorMessage`` declares one in its example.
    public protocol MessageIdentifier {
        /// The message it stands for.
        associatedtype MessageType
    }

    /// What a ``MessageIdentifier`` is declared with, as ``MainActorMessage`` does in its example.
    public struct BaseMessageIdentifier<MessageType>: MessageIdentifier, Sendable {
        /// Stands for a message of the main actor, as in ``MainActorMessage``'s example.
        public init() where MessageType: MainActorMessage {}
        /// Stands for a message of any thread, otherwise as in ``MainActorMessage``'s example.
        public init() where MessageType: AsyncMessage {}
    }
}

extension SharedNotificationCenter.MainActorMessage {
    /// The type's own name, without its module.
    public static var name: SharedNotificationCenter.Name {
        SharedNotificationCenter.Name(String(describing: Self.self))
    }
}

extension SharedNotificationCenter.AsyncMessage {
    /// The type's own name, without its module.
    public static var name: SharedNotificationCenter.Name {
        SharedNotificationCenter.Name(String(describing: Self.self))
    }
}
