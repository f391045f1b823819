#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Spelled as Foundation's `NotificationCenter` spells it.
extension SharedNotificationCenter {
    /// The messages about an object, as a sequence.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// extension SharedNotificationCenter.MessageIdentifier where Self == SharedNotificationCenter.BaseMessageIdentifier<BookAdded> {
    ///     static var bookAdded: Self { .init() }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let library = Library()
    /// for await book in center.messages(of: library, for: .bookAdded) { print(book.title) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, that is where a `for await` loop begins, and ends with the last copy of the iterator, or when
    /// its task is cancelled. Each iterator observes for itself. What falls out of the buffer, payloads that are not an `M`, and why observing could
    /// not start (the sequence is empty then) are told to ``onDiagnostic``.
    ///
    /// - Parameters:
    ///   - subject: the object; it is not kept. One that is `Identifiable` by a text, a number or a UUID has that name in all processes.
    ///   - identifier: which message, as `.bookAdded` (see ``MessageIdentifier``).
    ///   - limit: how many messages (at least 1; 64 MiB at most in all) may wait to be asked for; then the oldest are dropped.
    public func messages<Identifier: MessageIdentifier, M: AsyncMessage>(
        of subject: M.Subject,
        for identifier: Identifier,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable where Identifier.MessageType == M, M.Subject: AnyObject {
        SubjectMessages<M>(center: self, subject: SubjectIdentity.text(of: subject), limit: limit)
    }

    /// The messages of a type about an object, or about anything and nothing, as a sequence.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// let center = try SharedNotificationCenter.default
    /// for await book in center.messages(for: BookAdded.self) { print(book.title) }        // of: library, for those about one
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, that is where a `for await` loop begins, and ends with the last copy of the iterator, or when
    /// its task is cancelled. Each iterator observes for itself. What falls out of the buffer, payloads that are not an `M`, and why observing could
    /// not start (the sequence is empty then) are told to ``onDiagnostic``.
    ///
    /// - Parameters:
    ///   - subject: the object; it is not kept. One that is `Identifiable` by a text, a number or a UUID has that name in all processes. `nil`: all,
    ///     and those posted without one.
    ///   - messageType: which message.
    ///   - limit: how many messages (at least 1; 64 MiB at most in all) may wait to be asked for; then the oldest are dropped.
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
    /// extension SharedNotificationCenter.MessageIdentifier where Self == SharedNotificationCenter.BaseMessageIdentifier<Saved> {
    ///     static var saved: Self { .init() }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// for await saved in center.messages(of: Document(id: "letter"), for: .saved) { print(saved.size) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, that is where a `for await` loop begins, and ends with the last copy of the iterator, or when
    /// its task is cancelled. Each iterator observes for itself. What falls out of the buffer, payloads that are not an `M`, and why observing could
    /// not start (the sequence is empty then) are told to ``onDiagnostic``.
    ///
    /// - Parameters:
    ///   - subject: has its identifier as its name in all processes.
    ///   - identifier: which message, as `.bookAdded` (see ``MessageIdentifier``).
    ///   - limit: how many messages (at least 1; 64 MiB at most in all) may wait to be asked for; then the oldest are dropped.
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
    /// Promise: as for one that is identified by a text or a number. ``AsyncMessage`` has an example.
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
    /// Observation starts at `makeAsyncIterator()`, that is where a `for await` loop begins, and ends with the last copy of the iterator, or when
    /// its task is cancelled. Each iterator observes for itself. What falls out of the buffer, payloads that are not an `M`, and why observing could
    /// not start (the sequence is empty then) are told to ``onDiagnostic``.
    ///
    /// - Parameters:
    ///   - subject: has its identifier as its name in all processes.
    ///   - messageType: which message.
    ///   - limit: how many messages (at least 1; 64 MiB at most in all) may wait to be asked for; then the oldest are dropped.
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
    /// Promise: as for one that is identified by a text or a number. ``AsyncMessage`` has an example.
    @_disfavoredOverload
    public func messages<M: AsyncMessage>(
        of subject: M.Subject,
        for messageType: M.Type,
        bufferSize limit: Int = 10
    ) -> some AsyncSequence<M, Never> & Sendable
    where M.Subject: Identifiable, M.Subject.ID == UUID {
        SubjectMessages<M>(center: self, subject: subject.id.uuidString, limit: limit)
    }

    /// The messages about any subject of a type, and those posted without one, as a sequence.
    ///
    /// ```swift
    /// final class Library: Sendable {}
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Library
    ///     var title: String
    /// }
    /// extension SharedNotificationCenter.MessageIdentifier where Self == SharedNotificationCenter.BaseMessageIdentifier<BookAdded> {
    ///     static var bookAdded: Self { .init() }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// for await book in center.messages(of: Library.self, for: .bookAdded) { print(book.title) }
    /// ```
    ///
    /// Observation starts at `makeAsyncIterator()`, that is where a `for await` loop begins, and ends with the last copy of the iterator, or when
    /// its task is cancelled. Each iterator observes for itself. What falls out of the buffer, payloads that are not an `M`, and why observing could
    /// not start (the sequence is empty then) are told to ``onDiagnostic``.
    ///
    /// - Parameters:
    ///   - subject: its type.
    ///   - identifier: which message, as `.bookAdded` (see ``MessageIdentifier``).
    ///   - limit: how many messages (at least 1; 64 MiB at most in all) may wait to be asked for; then the oldest are dropped.
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
