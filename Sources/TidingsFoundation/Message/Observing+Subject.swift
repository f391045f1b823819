// Observers of messages about a subject. The functions have the names of Foundation's `NotificationCenter`, which do
// not throw. Failures are therefore reported as diagnostics.
public import Tidings

extension SharedNotificationCenter {
    // MARK: On the main actor

    /// Calls a closure on the main actor for every message about an object.
    ///
    /// Calls come one at a time and in the order of the center's positions. They include messages that this process
    /// posts, before that post returns: see ``MainActorMessage``. That page also has an example.
    ///
    /// - Parameters:
    ///   - subject: what the messages are about (``SubjectMessage/identity(of:)``). The center does not retain it.
    ///   - identifier: the message type, as `.trackChanged` (see ``MessageIdentifier``).
    ///   - observer: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released. If observing can't start, ``onDiagnostic`` receives
    ///   ``Diagnostic/observerFailed(_:_:)``, and the token is already cancelled.
    public func addObserver<Identifier: MessageIdentifier, M: MainActorMessage>(
        of subject: M.Subject,
        for identifier: Identifier,
        using observer: @escaping @MainActor (M) -> Void
    ) -> ObservationToken where Identifier.MessageType == M {
        observeOnMainActor(name: M.name, subject: M.identity(of: subject), observer)
    }

    /// Calls a closure on the main actor for every message of a type, about one object or about any subject or none.
    ///
    /// ```swift
    /// final class Player: Sendable {}
    /// struct TrackChanged: SharedNotificationCenter.MainActorMessage {
    ///     typealias Subject = Player
    ///     var title: String
    /// }
    /// @MainActor func follow(_ player: Player, in center: SharedNotificationCenter) {
    ///     let this = center.addObserver(of: player, for: TrackChanged.self) { print($0.title) }
    ///     let any = center.addObserver(for: TrackChanged.self) { print($0.title) }
    ///     for token in [this, any] { center.removeObserver(token) }
    /// }
    /// ```
    ///
    /// Calls come one at a time and in the order of the center's positions. They include messages that this process
    /// posts, before that post returns: see ``MainActorMessage``.
    ///
    /// - Parameters:
    ///   - subject: what the messages are about (``SubjectMessage/identity(of:)``). The center does not retain it.
    ///     `nil`: all messages of the type, with and without a subject.
    ///   - messageType: the message type.
    ///   - observer: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released. If observing can't start, ``onDiagnostic`` receives
    ///   ``Diagnostic/observerFailed(_:_:)``, and the token is already cancelled.
    public func addObserver<M: MainActorMessage>(
        of subject: M.Subject? = nil,
        for messageType: M.Type,
        using observer: @escaping @MainActor (M) -> Void
    ) -> ObservationToken {
        observeOnMainActor(name: M.name, subject: subject.map { M.identity(of: $0) }, observer)
    }

    /// Calls a closure on the main actor for every message about any subject of a type, or without a subject.
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
    /// let center = try SharedNotificationCenter.default
    /// let token = center.addObserver(of: Player.self, for: .trackChanged) { print($0.title) }
    /// ```
    ///
    /// Calls come one at a time and in the order of the center's positions. They include messages that this process
    /// posts, before that post returns: see ``MainActorMessage``.
    ///
    /// - Parameters:
    ///   - subject: the type of the subjects.
    ///   - identifier: the message type, as `.trackChanged` (see ``MessageIdentifier``).
    ///   - observer: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released. If observing can't start, ``onDiagnostic`` receives
    ///   ``Diagnostic/observerFailed(_:_:)``, and the token is already cancelled.
    public func addObserver<Identifier: MessageIdentifier, M: MainActorMessage>(
        of subject: M.Subject.Type,
        for identifier: Identifier,
        using observer: @escaping @MainActor (M) -> Void
    ) -> ObservationToken where Identifier.MessageType == M {
        observeOnMainActor(name: M.name, subject: nil, observer)
    }

    // MARK: Anywhere

    /// Calls an asynchronous closure for every message about an object.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// extension SharedNotificationCenter.MessageIdentifier
    /// where Self == SharedNotificationCenter.BaseMessageIdentifier<BookAdded> {
    ///     static var bookAdded: Self { .init() }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let library = Library()
    /// let token = center.addObserver(of: library, for: .bookAdded) { book in print(book.title) }
    /// ```
    ///
    /// The next call starts after the previous call has returned, in the order of the center's positions. See
    /// ``AsyncMessage``.
    ///
    /// - Parameters:
    ///   - subject: what the messages are about (``SubjectMessage/identity(of:)``). The center does not retain it.
    ///   - identifier: the message type, as `.trackChanged` (see ``MessageIdentifier``).
    ///   - observer: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released. If observing can't start, ``onDiagnostic`` receives
    ///   ``Diagnostic/observerFailed(_:_:)``, and the token is already cancelled.
    public func addObserver<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject,
        for identifier: Identifier,
        using observer: @escaping @Sendable (M) async -> Void
    ) -> ObservationToken where Identifier.MessageType == M {
        observeInTask(name: M.name, subject: M.identity(of: subject), observer)
    }

    /// Calls an asynchronous closure for every message of a type, about one object or about any subject or none.
    ///
    /// The next call starts after the previous call has returned, in the order of the center's positions. See
    /// ``AsyncMessage``. That page also has an example.
    ///
    /// - Parameters:
    ///   - subject: what the messages are about (``SubjectMessage/identity(of:)``). The center does not retain it.
    ///     `nil`: all messages of the type, with and without a subject.
    ///   - messageType: the message type.
    ///   - observer: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released. If observing can't start, ``onDiagnostic`` receives
    ///   ``Diagnostic/observerFailed(_:_:)``, and the token is already cancelled.
    public func addObserver<M: AsyncMessage>(
        of subject: M.Subject? = nil,
        for messageType: M.Type,
        using observer: @escaping @Sendable (M) async -> Void
    ) -> ObservationToken {
        observeInTask(name: M.name, subject: subject.map { M.identity(of: $0) }, observer)
    }

    /// Calls an asynchronous closure for every message about any subject of a type, or without a subject.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// extension SharedNotificationCenter.MessageIdentifier
    /// where Self == SharedNotificationCenter.BaseMessageIdentifier<BookAdded> {
    ///     static var bookAdded: Self { .init() }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let token = center.addObserver(of: Library.self, for: .bookAdded) { book in print(book.title) }
    /// ```
    ///
    /// The next call starts after the previous call has returned, in the order of the center's positions. See
    /// ``AsyncMessage``.
    ///
    /// - Parameters:
    ///   - subject: the type of the subjects.
    ///   - identifier: the message type, as `.trackChanged` (see ``MessageIdentifier``).
    ///   - observer: receives each message.
    /// - Returns: a token that keeps the observation alive. The observation ends with `cancel()`, or when the last copy
    ///   of the token is released. If observing can't start, ``onDiagnostic`` receives
    ///   ``Diagnostic/observerFailed(_:_:)``, and the token is already cancelled.
    public func addObserver<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject.Type,
        for identifier: Identifier,
        using observer: @escaping @Sendable (M) async -> Void
    ) -> ObservationToken where Identifier.MessageType == M {
        observeInTask(name: M.name, subject: nil, observer)
    }

    /// Ends an observation of this center object, as the token's ``ObservationToken/cancel()`` does.
    ///
    /// A token of another center object is ignored, as Foundation ignores it.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: "com.example.changed") { print($0.name) }
    /// center.removeObserver(token)
    /// ```
    public func removeObserver(_ token: ObservationToken) {
        if isOwn(token) { token.cancel() }
    }
}
