// Well-known names of actors, and the end of an actor.
public import Distributed
public import Tidings

extension SharedActorSystem {
    private static func request(_ name: String) -> SharedNotificationCenter.Name {
        .init("tidings.actors.name.\(name)")
    }

    /// Gives an actor a name, by which other processes find it.
    ///
    /// ```swift
    /// distributed actor Renderer { typealias ActorSystem = SharedActorSystem }
    /// let system = try SharedActorSystem(in: .default)
    /// let renderer = Renderer(actorSystem: system)
    /// try system.register(renderer, as: "renderer")
    /// ```
    ///
    /// Promise: ``resolve(_:named:)`` finds the actor when this call has returned, until ``unregister(_:)``, the
    /// actor's release, or the end of its process. Any number of processes may have an actor of one name; `resolve`
    /// finds one of them, that of a process that is free. A system has one actor of a name: another one takes its
    /// place.
    ///
    /// A name is served as the name of a request is: that is exact when processes die, and needs no list that could be
    /// out of date. It costs a thread, which sleeps, and one of the center's observers.
    ///
    /// Waits, as `serve(_:options:using:)` does, for a process that reports the death of
    /// another one.
    ///
    /// - Parameters:
    ///   - actor: an actor of this system.
    ///   - name: 1 to 218 bytes of UTF-8.
    /// - Throws: `SharedNotificationError`: `.invalidArgument` (the actor is of another system), and as `serve`
    ///   does: `.invalidName`, `.tooManyObservers`, `.noSpace`, `.removed`, `.forked`, `.system`.
    public func register<Act>(
        _ actor: Act, as name: String
    ) throws(SharedNotificationError) where Act: DistributedActor, Act.ID == ActorID {
        let id = actor.id
        guard id.system == self.id else {
            throw SharedNotificationError(
                .invalidArgument,
                message: "can't register actor \(id) as \"\(name)\": it is of another system; register it there")
        }
        guard !name.isEmpty else {
            throw SharedNotificationError(
                .invalidName, message: "can't register actor \(id) as \"\": a name has 1 to 218 bytes")
        }
        let request = Self.request(name)
        let server = try center.serve(name: request, options: .init(concurrency: .max)) { _, _, _ in
            try .init(encoding: id)
        }
        // The actor exists, because the caller holds it. Its former server ends after the new one has begun.
        let former = state.withLock { state in
            defer { state.actors[id.number]?.names[request] = server }
            return state.takeName(request)
        }
        withExtendedLifetime(former) {}
    }

    /// Ends a name that ``register(_:as:)`` has given to an actor of this system. Idempotent.
    ///
    /// Promise: when this call has returned, ``resolve(_:named:)`` does not find the actor. Waits for the name's
    /// thread.
    public func unregister(_ name: String) {
        // Released without the lock: that ends the server.
        withExtendedLifetime(state.withLock { $0.takeName(Self.request(name)) }) {}
    }

    /// Finds an actor by its name, in any process that has the center open. ``SharedActorSystem`` has an example.
    ///
    /// Waits for no process to begin. The reference that it returns is of one actor, and ends with it: after
    /// `.noServer`, `.serverEnded` or `.notFound`, resolve the name again.
    ///
    /// - Parameters:
    ///   - type: the actor's type. Its process does not check it now; it refuses calls of another type.
    ///   - name: as in ``register(_:as:)``.
    /// - Returns: the actor, or a reference to it.
    /// - Throws: `SharedNotificationError`: `.noServer` (no living process has an actor of that name), `.timedOut`
    ///   (the processes that have one are stopped), and as a call does, as ``SharedActorSystem`` says.
    public func resolve<Act>(
        _ type: Act.Type = Act.self, named name: String
    ) async throws -> Act where Act: DistributedActor, Act.ID == ActorID, Act.ActorSystem == SharedActorSystem {
        do {
            let reply = try await center.request(
                name: Self.request(name), payload: .empty, timeout: waiting, options: .init(idempotent: true))
            return try Act.resolve(id: reply.decode(ActorID.self), using: self)
        } catch let error as SharedNotificationError where error.code == .noServer {
            throw SharedNotificationError(
                .noServer,
                message: """
                    can't resolve actor "\(name)" in center "\(center.name)": no process has registered it; start one \
                    that does
                    """,
                underlyingError: error)
        } catch let error as DecodingError {
            throw SharedNotificationError(
                .decodingFailed,
                message: "can't resolve actor \"\(name)\" in center \"\(center.name)\": the reply is no ID: \(error)",
                underlyingError: error)
        }
    }

    // MARK: The end of an actor

    /// Waits until an actor has ended: until it is released, or its process ends.
    ///
    /// ```swift
    /// func replace(_ id: SharedActorSystem.ActorID, in system: SharedActorSystem) async throws {
    ///     try await system.waitForEnd(of: id)
    ///     print("\(id) has ended")
    /// }
    /// ```
    ///
    /// Promise: returns within milliseconds after the end, and at once if the actor has ended. Polls nothing. It takes
    /// one call of the center. A stopped process has not ended.
    ///
    /// - Parameter id: an actor of any process.
    /// - Throws: `CancellationError`, or `SharedNotificationError` as a call does, as ``SharedActorSystem`` says:
    ///   `.removed`, `.full`, `.forked` and others.
    public func waitForEnd(of id: ActorID) async throws {
        do {
            if id.system == self.id {
                await end(of: id.number)
                try Task.checkCancellation()
            } else {
                _ = try await ask(.end(id.number), of: id, timeout: nil) {
                    .init($0, message: "can't wait for the end of actor \(id): \($1)", underlyingError: $2)
                }
            }
        } catch let error as SharedNotificationError where error.code == .noServer || error.code == .serverEnded {}
    }

    /// Returns when that actor of this system has ended, or the task is cancelled.
    func end(of actor: UInt64) async {
        let (stream, watcher) = AsyncStream.makeStream(of: Never.self)
        let number = state.withLock { state -> UInt64? in
            guard state.actors[actor] != nil else { return nil }
            state.last += 1
            state.actors[actor]?.watchers[state.last] = watcher
            return state.last
        }
        guard let number else { return }
        for await _ in stream {}
        state.withLock { _ = $0.actors[actor]?.watchers.removeValue(forKey: number) }
    }
}

extension SharedActorSystem.State {
    /// Takes a name away from the actor that has it. Release what is returned without the lock.
    mutating func takeName(_ name: SharedNotificationCenter.Name) -> SharedNotificationCenter.Server? {
        for number in actors.keys {
            if let server = actors[number]?.names.removeValue(forKey: name) { return server }
        }
        return nil
    }
}
