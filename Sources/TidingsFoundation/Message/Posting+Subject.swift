// Posting messages with the signatures of Foundation's `NotificationCenter`. These do not throw, so failures are
// diagnostics.
public import Tidings

extension SharedNotificationCenter {
    /// Posts a message of the main actor. ``MainActorMessage`` has an example.
    ///
    /// Promise: before this returns, this center object's own observers of the message have been called (see
    /// ``MainActorMessage``). Waits for no other process. If the message can't be posted, ``onDiagnostic`` receives
    /// ``Diagnostic/postFailed(_:_:)``, and no observer is called.
    @MainActor
    public func post<M: MainActorMessage>(_ message: M) {
        postSettlingOnMainActor(message, name: M.name, subject: nil)
    }

    /// Posts a message of the main actor about an object. ``MainActorMessage`` has an example.
    ///
    /// Promise: as `post(_:)`.
    ///
    /// - Parameters:
    ///   - message: encoded before this returns.
    ///   - subject: what the message is about. Other processes can observe it if its text is the same there: see
    ///     ``SubjectMessage/identity(of:)``.
    @MainActor
    public func post<M: MainActorMessage>(_ message: M, subject: M.Subject) {
        postSettlingOnMainActor(message, name: M.name, subject: M.identity(of: subject))
    }

    /// Posts a message, from any thread. ``AsyncMessage`` has an example.
    ///
    /// Promise: before this returns, this center object's own sequences of the message have it in their buffers (see
    /// ``AsyncMessage``). Waits for no other process. If the message can't be posted, ``onDiagnostic`` receives
    /// ``Diagnostic/postFailed(_:_:)``, and no observer receives the message.
    public func post<M: AsyncMessage>(_ message: M) {
        postSettling(message, name: M.name, subject: nil)
    }

    /// Posts a message about an object, from any thread.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// let (center, library) = (try SharedNotificationCenter.default, Library())
    /// let token = center.addObserver(of: library, for: BookAdded.self) { book in print(book.title) }
    /// center.post(BookAdded(title: "Solaris"), subject: library)
    /// ```
    ///
    /// Promise: as `post(_:)`.
    ///
    /// - Parameters:
    ///   - message: encoded before this returns.
    ///   - subject: what the message is about. Other processes can observe it if its text is the same there: see
    ///     ``SubjectMessage/identity(of:)``.
    public func post<M: AsyncMessage>(_ message: M, subject: M.Subject) {
        postSettling(message, name: M.name, subject: M.identity(of: subject))
    }
}
