// Posting messages with the signatures of Foundation's `NotificationCenter`. These do not throw, so failures are
// diagnostics.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension SharedNotificationCenter {
    /// Posts a message of the main actor. ``MainActorMessage`` has an example.
    ///
    /// Promise: before this returns, this center object's own observers of the message have been called (see
    /// ``MainActorMessage``). Waits for no other process. If the message can't be posted, ``onDiagnostic`` receives
    /// ``Diagnostic/postFailed(_:_:)``, and no observer is called.
    @MainActor
    public func post<M: MainActorMessage>(_ message: M) {
        post(message, subjectText: nil)
    }

    /// Posts a message of the main actor about an object. ``MainActorMessage`` has an example.
    ///
    /// Promise: as `post(_:)`.
    ///
    /// - Parameters:
    ///   - message: encoded before this returns.
    ///   - subject: what the message is about. If it is `Identifiable` by a text, a number or a UUID, other processes
    ///     identify it by that. Other processes can't observe any other object.
    @MainActor
    public func post<M: MainActorMessage>(_ message: M, subject: M.Subject) where M.Subject: AnyObject {
        post(message, subjectText: SubjectIdentity.text(of: subject))
    }

    /// Posts a message of the main actor about a value that is identified by a text or a number, in all processes.
    ///
    /// ```swift
    /// struct Room: Identifiable { var id: Int }
    /// struct LightsOut: SharedNotificationCenter.MainActorMessage { typealias Subject = Room }
    /// @MainActor func leave(_ center: SharedNotificationCenter) {
    ///     center.post(LightsOut(), subject: Room(id: 12))        // for observers of room 12, in all processes
    /// }
    /// ```
    ///
    /// Promise: as `post(_:)`.
    @MainActor
    @_disfavoredOverload
    public func post<M: MainActorMessage>(_ message: M, subject: M.Subject)
    where M.Subject: Identifiable, M.Subject.ID: LosslessStringConvertible {
        post(message, subjectText: subject.id.description)
    }

    /// Posts a message of the main actor about a value that is identified by a UUID, in all processes.
    ///
    /// Promise: as for one that is identified by a text or a number. ``MainActorMessage`` has an example.
    @MainActor
    @_disfavoredOverload
    public func post<M: MainActorMessage>(_ message: M, subject: M.Subject)
    where M.Subject: Identifiable, M.Subject.ID == UUID {
        post(message, subjectText: subject.id.uuidString)
    }

    /// Posts a message, from any thread. ``AsyncMessage`` has an example.
    ///
    /// Promise: before this returns, this center object's own sequences of the message have it in their buffers (see
    /// ``AsyncMessage``). Waits for no other process. If the message can't be posted, ``onDiagnostic`` receives
    /// ``Diagnostic/postFailed(_:_:)``, and no observer receives the message.
    public func post<M: AsyncMessage>(_ message: M) {
        post(message, subjectText: nil)
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
    ///   - subject: what the message is about. If it is `Identifiable` by a text, a number or a UUID, other processes
    ///     identify it by that. Other processes can't observe any other object.
    public func post<M: AsyncMessage>(_ message: M, subject: M.Subject) where M.Subject: AnyObject {
        post(message, subjectText: SubjectIdentity.text(of: subject))
    }

    /// Posts a message about a value that is identified by a text or a number, in all processes, from any thread.
    ///
    /// ```swift
    /// struct Shelf: Identifiable { var id: String }
    /// struct BookAdded: SharedNotificationCenter.AsyncMessage {
    ///     typealias Subject = Shelf
    ///     var title: String
    /// }
    /// try SharedNotificationCenter.default.post(BookAdded(title: "Solaris"), subject: Shelf(id: "L"))
    /// ```
    ///
    /// Promise: as `post(_:)`.
    @_disfavoredOverload
    public func post<M: AsyncMessage>(_ message: M, subject: M.Subject)
    where M.Subject: Identifiable, M.Subject.ID: LosslessStringConvertible {
        post(message, subjectText: subject.id.description)
    }

    /// Posts a message about a value that is identified by a UUID, in all processes.
    ///
    /// Promise: as for one that is identified by a text or a number. ``MainActorMessage`` has an example.
    @_disfavoredOverload
    public func post<M: AsyncMessage>(_ message: M, subject: M.Subject)
    where M.Subject: Identifiable, M.Subject.ID == UUID {
        post(message, subjectText: subject.id.uuidString)
    }

    @MainActor
    private func post<M: MainActorMessage>(_ message: M, subjectText: String?) {
        guard let sequence = posted(message, name: M.name, subject: subjectText) else { return }
        subjects.settleOnMainActor(M.name, subjectText, sequence, in: core.link.handle.incarnation)
    }

    private func post<M: AsyncMessage>(_ message: M, subjectText: String?) {
        guard let sequence = posted(message, name: M.name, subject: subjectText) else { return }
        subjects.settle(M.name, subjectText, sequence, in: core.link.handle.incarnation)
    }

    private func posted<M: Encodable>(_ message: M, name: Name, subject: String?) -> UInt64? {
        do throws(SharedNotificationError) {
            return try core.post(
                encoding: message, name: name, subject: subject, as: M.self,
                options: PostOptions(retain: false, deadline: nil))
        } catch {
            core.diagnostics.report(.postFailed(name, error))
            return nil
        }
    }
}
