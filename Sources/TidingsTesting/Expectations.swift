public import Testing
public import Tidings

extension SharedNotificationCenter {
    /// Expects a message that some code posts, in this process or another one, and returns it.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let test = try TestCenter()
    /// let change = await test.center.expect(TrackChanged.self) {
    ///     try test.center.post(TrackChanged(title: "So What"))
    /// }
    /// print(change?.title ?? "nothing")
    /// ```
    ///
    /// Promise: the observer is registered before `action` runs, so the message cannot come too early. The call returns
    /// as soon as a message matches. If none does within the time, if `action` throws, or if observing fails, an issue
    /// is recorded at the caller's line, and the result is `nil`.
    ///
    /// - Parameters:
    ///   - type: the message type.
    ///   - options: the subject and the start.
    ///   - limit: how long to wait after `action` has returned. It ends what hangs; a correct program does not use it
    ///     up.
    ///   - isExpected: whether this message is expected; others are passed over.
    ///   - sourceLocation: where an issue is recorded.
    ///   - action: what causes the post.
    @discardableResult
    public func expect<M: Message>(
        _ type: M.Type = M.self, options: ObserverOptions = ObserverOptions(), within limit: Duration = .seconds(60),
        where isExpected: @escaping @Sendable (M) -> Bool = { _ in true },
        sourceLocation: SourceLocation = #_sourceLocation, after action: () async throws -> Void
    ) async -> M? {
        let messages: ObservedSequence<M>.Iterator
        do {
            messages = try self.messages(of: type, options: options).register()
            try await action()
        } catch {
            Issue.record("\"\(M.name)\" was expected: \(error)", sourceLocation: sourceLocation)
            return nil
        }
        let found = await withTaskGroup(of: M?.self) { group in
            group.addTask {
                for await message in messages where isExpected(message) { return message }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if found == nil {
            Issue.record("no expected \"\(M.name)\" came within \(limit)", sourceLocation: sourceLocation)
        }
        return found
    }

    /// Expects that some code posts no such message.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let test = try TestCenter()
    /// await test.center.expectNone(of: TrackChanged.self) { try test.center.post(name: "com.example.other") }
    /// ```
    ///
    /// Promise: finds every message that was posted before `action` has returned, and needs no time-out for that. A
    /// message that is posted later, by a process that `action` does not wait for, is not found. For each message, and
    /// if `action` throws or observing fails, an issue is recorded at the caller's line.
    ///
    /// - Parameters: as for ``expect(_:options:within:where:sourceLocation:after:)``.
    public func expectNone<M: Message>(
        of type: M.Type = M.self, options: ObserverOptions = ObserverOptions(),
        where isForbidden: (M) -> Bool = { _ in true }, sourceLocation: SourceLocation = #_sourceLocation,
        during action: () async throws -> Void
    ) async {
        do {
            let messages = try self.messages(of: type, options: options).register()
            try await action()
            messages.finish()
            for await message in messages where isForbidden(message) {
                Issue.record("no \"\(M.name)\" was expected, but \(message)", sourceLocation: sourceLocation)
            }
        } catch {
            Issue.record("no \"\(M.name)\" was expected: \(error)", sourceLocation: sourceLocation)
        }
    }
}
