// Observers of messages about a subject. The functions have the names of Foundation's `NotificationCenter`, which do
// not throw. Failures are therefore reported as diagnostics.

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
        observeOnMainActor(M.identity(of: subject), observer)
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
        observeOnMainActor(subject.map { M.identity(of: $0) }, observer)
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
        observeOnMainActor(nil, observer)
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
        observeInTask(M.identity(of: subject), observer)
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
        observeInTask(subject.map { M.identity(of: $0) }, observer)
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
        observeInTask(nil, observer)
    }

    private func observeOnMainActor<M: MainActorMessage>(
        _ subject: String?, _ observer: @escaping @MainActor (M) -> Void
    ) -> ObservationToken {
        core.types.note(M.self, name: M.name)
        let undecodable = UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics)
        let token = observe(
            M.name, subject, notesArrivals: true,
            as: .mainActor { arrival in
                // Decode on the main actor: `M` need not be `Sendable`, so its value must not cross threads.
                if let message = undecodable.decoded(M.self, from: arrival) { observer(message) }
            })
        if let observation = token.anchor?.observation { subjects.add(observation, name: M.name) }
        return token
    }

    private func observeInTask<M: AsyncMessage>(
        _ subject: String?, _ observer: @escaping @Sendable (M) async -> Void
    ) -> ObservationToken {
        core.types.note(M.self, name: M.name)
        let undecodable = UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics)
        return observe(
            M.name, subject, notesArrivals: false,
            as: .task(nil) { arrival in
                if let message = undecodable.decoded(M.self, from: arrival) { await observer(message) }
            })
    }

    private func observe(_ name: Name, _ subject: String?, notesArrivals: Bool, as manner: Manner) -> ObservationToken {
        do throws(SharedNotificationError) {
            let subscription = ObserverOptions(subject: subject).subscription(to: [name])
            return ObservationToken(
                anchor: try core.observe(subscription, onMissed: nil, notesArrivals: notesArrivals, as: manner))
        } catch {
            core.diagnostics.report(.observerFailed(name, error))
            return ObservationToken(anchor: nil)
        }
    }
}

extension UndecodableReport {
    /// Decodes a payload. `nil`: the payload does not decode, which has been reported, or the notification clears the
    /// retained value.
    func decoded<Value: Decodable>(_ type: Value.Type, from arrival: Arrival) -> Value? {
        guard !arrival.isCleared else { return nil }
        do {
            // As in Foundation, a notification without a payload is not a message, even if the type has no fields.
            return try arrival.withBytes {
                try PayloadCoding.decode(
                    type, format: SharedNotificationCenter.PayloadFormat(rawValue: arrival.format), bytes: $0)
            }
        } catch {
            report(arrival, error)
            return nil
        }
    }
}
