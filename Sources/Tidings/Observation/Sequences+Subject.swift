// Sequences of messages about a subject. The names follow Foundation's `NotificationCenter`.

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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
    ///   - subject: the object, which the center does not retain. An object that is `Identifiable` by a text, a number
    ///     or a UUID has that identifier as its name in all processes.
    ///   - identifier: the message type, as `.bookAdded` (see ``MessageIdentifier``).
    ///   - limit: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator. Beyond that, the
    ///     oldest are dropped.
    public func messages<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject,
        for identifier: Identifier,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable where Identifier.MessageType == M, M.Subject: AnyObject {
        SubjectMessages<M>(center: self, subject: SubjectIdentity.text(of: subject), limit: limit)
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
    ///   - subject: the object, which the center does not retain. An object that is `Identifiable` by a text, a number
    ///     or a UUID has that identifier as its name in all processes. `nil`: all messages of the type, with and
    ///     without a subject.
    ///   - messageType: the message type.
    ///   - limit: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator. Beyond that, the
    ///     oldest are dropped.
    public func messages<M: AsyncMessage>(
        of subject: M.Subject? = nil,
        for messageType: M.Type,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable where M.Subject: AnyObject {
        SubjectMessages<M>(center: self, subject: subject.map { SubjectIdentity.text(of: $0) }, limit: limit)
    }

    /// The messages about a value that is identified by a text or a number, as a sequence.
    ///
    /// ```swift
    /// struct Document: Identifiable { var id: String }
    /// struct Saved: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Document
    ///     var size: Int
    /// }
    /// extension SharedNotificationCenter.MessageIdentifier
    /// where Self == SharedNotificationCenter.BaseMessageIdentifier<Saved> {
    ///     static var saved: Self { .init() }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// for await saved in center.messages(of: Document(id: "letter"), for: .saved) { print(saved.size) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, where a `for await` loop begins. It ends with the last copy of the
    /// iterator, or when its task is cancelled. Each iterator is an observation of its own. ``onDiagnostic`` receives
    /// the losses of a full buffer and payloads that do not decode as `M`. If observing can't start, ``onDiagnostic``
    /// receives the error and the sequence is empty.
    ///
    /// - Parameters:
    ///   - subject: the value; its identifier is its name in all processes.
    ///   - identifier: the message type, as `.bookAdded` (see ``MessageIdentifier``).
    ///   - limit: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator. Beyond that, the
    ///     oldest are dropped.
    @_disfavoredOverload
    public func messages<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject,
        for identifier: Identifier,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable
    where Identifier.MessageType == M, M.Subject: Identifiable, M.Subject.ID: LosslessStringConvertible {
        SubjectMessages<M>(center: self, subject: subject.id.description, limit: limit)
    }

    /// The messages about a value that is identified by a UUID, as a sequence.
    ///
    /// Promise: as for a value that is identified by a text or a number. ``AsyncMessage`` has an example.
    @_disfavoredOverload
    public func messages<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject,
        for identifier: Identifier,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable
    where Identifier.MessageType == M, M.Subject: Identifiable, M.Subject.ID == UUID {
        SubjectMessages<M>(center: self, subject: subject.id.uuidString, limit: limit)
    }

    /// The messages of a type about a value that is identified by a text or a number, as a sequence.
    ///
    /// ```swift
    /// struct Document: Identifiable { var id: String }
    /// struct Saved: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Document
    ///     var size: Int
    /// }
    /// let center = try SharedNotificationCenter.default
    /// for await saved in center.messages(of: Document(id: "letter"), for: Saved.self) { print(saved.size) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, where a `for await` loop begins. It ends with the last copy of the
    /// iterator, or when its task is cancelled. Each iterator is an observation of its own. ``onDiagnostic`` receives
    /// the losses of a full buffer and payloads that do not decode as `M`. If observing can't start, ``onDiagnostic``
    /// receives the error and the sequence is empty.
    ///
    /// - Parameters:
    ///   - subject: the value; its identifier is its name in all processes.
    ///   - messageType: the message type.
    ///   - limit: how many messages (at least 1; at most 64 MiB in total) may wait for the iterator. Beyond that, the
    ///     oldest are dropped.
    @_disfavoredOverload
    public func messages<M: AsyncMessage>(
        of subject: M.Subject,
        for messageType: M.Type,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable
    where M.Subject: Identifiable, M.Subject.ID: LosslessStringConvertible {
        SubjectMessages<M>(center: self, subject: subject.id.description, limit: limit)
    }

    /// The messages of a type about a value that is identified by a UUID, as a sequence.
    ///
    /// Promise: as for a value that is identified by a text or a number. ``AsyncMessage`` has an example.
    @_disfavoredOverload
    public func messages<M: AsyncMessage>(
        of subject: M.Subject,
        for messageType: M.Type,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable
    where M.Subject: Identifiable, M.Subject.ID == UUID {
        SubjectMessages<M>(center: self, subject: subject.id.uuidString, limit: limit)
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
        SubjectMessages<M>(center: self, subject: nil, limit: limit)
    }
}

private struct SubjectMessages<M: SharedNotificationCenter.AsyncMessage>: AsyncSequence, Sendable {
    typealias Element = M
    typealias Failure = Never

    let center: SharedNotificationCenter
    let subject: String?
    let limit: Int

    func makeAsyncIterator() -> Iterator {
        let core = center.core
        core.types.note(M.self, name: M.name)
        let feed = Feed(
            core: core,
            subscription: Subscription(
                names: [M.name], subject: subject, start: .now, excludesOwn: false, isLossless: false),
            bounds: .sequence(limit, .newest), notesArrivals: true)
        if let observation = feed.observation { center.subjects.add(observation, name: M.name) }
        return Iterator(feed: feed, undecodable: UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics))
    }

    struct Iterator: AsyncIteratorProtocol {
        let feed: Feed
        let undecodable: UndecodableReport

        mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> M? {
            while let item = await feed.next(isolation: actor) {
                switch item {
                case .arrival(let arrival):
                    if let message = undecodable.decoded(M.self, from: arrival) { return message }
                case .missed(let count, _): feed.reportMissed(count, to: nil)
                case .reopened, .ended: continue
                }
            }
            return nil
        }
    }
}
