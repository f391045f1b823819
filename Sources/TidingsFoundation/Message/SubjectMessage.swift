// Message types with a subject, as in Foundation's `NotificationCenter`, and their short spellings.
public import Foundation
public import Tidings

extension SharedNotificationCenter {
    /// What ``MainActorMessage`` and ``AsyncMessage`` have in common. A type conforms to one of these two, which have
    /// examples.
    public protocol SubjectMessage: Codable, SendableMetatype {
        /// The type of the subjects that a message can be about.
        associatedtype Subject

        /// The name of its notifications, the same in all processes. Default: the type's own name without its module.
        static var name: Name { get }

        /// The text that stands for a subject in the center, 1 to 255 bytes of UTF-8.
        ///
        /// Default: the identifier of a subject that is `Identifiable` by a text, a number or a `UUID`, which is the
        /// same in all processes; for any other object, a text that other processes do not have. Other subject types
        /// need an implementation. For an example of subjects see ``MainActorMessage``.
        static func identity(of subject: Subject) -> String
    }

    /// A type whose values are posted and observed on the main actor, like Foundation's
    /// `NotificationCenter.MainActorMessage`.
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
    /// Promise: when a post has returned, this center object's own observers of the message have been called. They are
    /// called in the center's one order, so after earlier notifications from other processes. If the poster is itself
    /// an observer that is being called, that observer is called again after it has returned. Other center objects and
    /// other processes are called on their main actors, as soon as these are free.
    ///
    /// Differences from Foundation:
    /// - Values are `Codable`, because they travel. Each observer gets its own copy.
    /// - The name is the same in all processes. So is a subject that is `Identifiable` by a text, a number or a `UUID`.
    ///   Any other object is a subject in its own process only, unless the message type implements
    ///   ``SubjectMessage/identity(of:)``.
    /// - Posting and observing do not throw: failures are reported to ``onDiagnostic``.
    /// - In other processes, a ``Message`` with the same name and fields, or the untyped ``Notification``, receives the
    ///   notification as well.
    public protocol MainActorMessage: SubjectMessage {}

    /// A type whose values are posted and observed on any thread, like Foundation's `NotificationCenter.AsyncMessage`.
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
    /// Promise: each observer is called one at a time and in the center's one order, in a task of its own. When a post
    /// has returned, this center object's own sequences (`messages(of:for:bufferSize:)`) have the message in their
    /// buffers. The differences from Foundation are those of ``MainActorMessage``.
    public protocol AsyncMessage: SubjectMessage, Sendable {}

    /// A short spelling for a message type where observers are added: `.trackChanged`.
    ///
    /// The example of ``MainActorMessage`` declares one.
    public protocol MessageIdentifier {
        /// The message it stands for.
        associatedtype MessageType
    }

    /// The value that declares a ``MessageIdentifier``, as in the example of ``MainActorMessage``.
    public struct BaseMessageIdentifier<MessageType>: MessageIdentifier, Sendable {
        /// Identifies a message of the main actor, as in the example of ``MainActorMessage``.
        public init() where MessageType: MainActorMessage {}
        /// Identifies a message of any thread, otherwise as in the example of ``MainActorMessage``.
        public init() where MessageType: AsyncMessage {}
    }
}

extension SharedNotificationCenter.SubjectMessage {
    /// The type's own name, without its module.
    public static var name: SharedNotificationCenter.Name {
        SharedNotificationCenter.Name(String(describing: Self.self))
    }
}

extension SharedNotificationCenter.SubjectMessage where Subject: AnyObject {
    /// The object's identifier if it is `Identifiable`, or a text that stands for it in this process only.
    /// For examples of subjects see ``SharedNotificationCenter/MainActorMessage``.
    public static func identity(of subject: Subject) -> String { SubjectIdentity.text(of: subject) }
}

extension SharedNotificationCenter.SubjectMessage
where Subject: Identifiable, Subject.ID: LosslessStringConvertible {
    /// The identifier as text. For examples of subjects
    /// see ``SharedNotificationCenter/MainActorMessage``.
    public static func identity(of subject: Subject) -> String { subject.id.description }
}

extension SharedNotificationCenter.SubjectMessage where Subject: Identifiable, Subject.ID == UUID {
    /// The UUID as text. For examples of subjects
    /// see ``SharedNotificationCenter/MainActorMessage``.
    public static func identity(of subject: Subject) -> String { subject.id.uuidString }
}

// For an object that is also `Identifiable`, the compiler could not choose between the extensions above.
extension SharedNotificationCenter.SubjectMessage
where Subject: AnyObject & Identifiable, Subject.ID: LosslessStringConvertible {
    /// The identifier as text. For examples of subjects
    /// see ``SharedNotificationCenter/MainActorMessage``.
    public static func identity(of subject: Subject) -> String { subject.id.description }
}

extension SharedNotificationCenter.SubjectMessage where Subject: AnyObject & Identifiable, Subject.ID == UUID {
    /// The UUID as text. For examples of subjects
    /// see ``SharedNotificationCenter/MainActorMessage``.
    public static func identity(of subject: Subject) -> String { subject.id.uuidString }
}
