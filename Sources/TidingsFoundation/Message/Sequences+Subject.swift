// Sequences of messages about a subject. The names follow Foundation's `NotificationCenter`.
public import Tidings

extension SharedNotificationCenter {
    /// The messages about an object, as a sequence.
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
    /// for await book in center.messages(of: library, for: .bookAdded) { print(book.title) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, where a `for await` loop begins. It ends with the last copy of the
    /// iterator, or when its task is cancelled. Each iterator is an observation of its own. ``onDiagnostic`` receives
    /// the losses of a full buffer and payloads that do not decode as `M`. If observing can't start, ``onDiagnostic``
    /// receives the error and the sequence is empty.
    ///
    /// - Parameters:
    ///   - subject: what the messages are about (``SubjectMessage/identity(of:)``). The center does not retain it.
    ///   - identifier: the message type, as `.bookAdded` (see ``MessageIdentifier``).
    ///   - limit: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator. Beyond that, the
    ///     oldest are dropped.
    public func messages<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject,
        for identifier: Identifier,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable where Identifier.MessageType == M {
        settlingMessages(M.self, name: M.name, subject: M.identity(of: subject), limit: limit)
    }

    /// The messages of a type about one object, or about any subject or none, as a sequence.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// let center = try SharedNotificationCenter.default
    /// // With `of: library`: the messages about one library.
    /// for await book in center.messages(for: BookAdded.self) { print(book.title) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, where a `for await` loop begins. It ends with the last copy of the
    /// iterator, or when its task is cancelled. Each iterator is an observation of its own. ``onDiagnostic`` receives
    /// the losses of a full buffer and payloads that do not decode as `M`. If observing can't start, ``onDiagnostic``
    /// receives the error and the sequence is empty.
    ///
    /// - Parameters:
    ///   - subject: what the messages are about (``SubjectMessage/identity(of:)``). The center does not retain it.
    ///     `nil`: all messages of the type, with and without a subject.
    ///   - messageType: the message type.
    ///   - limit: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator. Beyond that, the
    ///     oldest are dropped.
    public func messages<M: AsyncMessage>(
        of subject: M.Subject? = nil,
        for messageType: M.Type,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable {
        settlingMessages(M.self, name: M.name, subject: subject.map { M.identity(of: $0) }, limit: limit)
    }

    /// The messages about any subject of a type, or without a subject, as a sequence.
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
    /// for await book in center.messages(of: Library.self, for: .bookAdded) { print(book.title) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, where a `for await` loop begins. It ends with the last copy of the
    /// iterator, or when its task is cancelled. Each iterator is an observation of its own. ``onDiagnostic`` receives
    /// the losses of a full buffer and payloads that do not decode as `M`. If observing can't start, ``onDiagnostic``
    /// receives the error and the sequence is empty.
    ///
    /// - Parameters:
    ///   - subject: the type of the subjects.
    ///   - identifier: the message type, as `.bookAdded` (see ``MessageIdentifier``).
    ///   - limit: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator. Beyond that, the
    ///     oldest are dropped.
    public func messages<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject.Type,
        for identifier: Identifier,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable where Identifier.MessageType == M {
        settlingMessages(M.self, name: M.name, subject: nil, limit: limit)
    }
}
