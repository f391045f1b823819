public import Distributed
public import Tidings

#if canImport(FoundationEssentials)
    import struct FoundationEssentials.UUID
#else
    import struct Foundation.UUID
#endif

/// An actor system on a center: distributed actors of one process are called by others that have the center open.
///
/// ```swift
/// distributed actor Renderer {
///     typealias ActorSystem = SharedActorSystem
///     distributed func render(page: Int) -> String { "page \(page)" }
/// }
///
/// // The process with the actor:
/// func serve() async throws -> Renderer {
///     let system = try SharedActorSystem(in: SharedNotificationCenter(named: "com.example.viewer"))
///     try await system.allow(Renderer.self, calls: { _ = try await $0.render(page: 0) })
///     let renderer = Renderer(actorSystem: system)
///     try system.register(renderer, as: "renderer")
///     return renderer
/// }
///
/// // Another process:
/// func render() async throws {
///     let center = try SharedNotificationCenter(named: "com.example.viewer")
///     let system = try SharedActorSystem(in: center, timeout: .seconds(2))
///     print(try await system.resolve(Renderer.self, named: "renderer").render(page: 3))
/// }
/// ```
///
/// ### Calls
///
/// A call is a request (`request(_:timeout:options:)`) with the same promise: it ends once.
/// It is carried out at most once. Arguments and results are `Codable`, travel as CBOR, and may be as large as the
/// center's maximum payload size. The target runs on its actor, as a call in its own process does; the actor may
/// suspend and take another call. When the caller's task is cancelled, or its time is over
/// (``timeout``, ``init(in:timeout:)``), the target's task is cancelled. A call throws what the target threw, as
/// ``allow(errors:)`` says, `CancellationError`, or a `SharedNotificationError`:
/// - `.noServer`: the actor's process, or its system, had ended; `.serverEnded`: it ended during the call. Both are
///   reported within milliseconds;
/// - `.notFound`: the actor was released;
/// - `.notPermitted`: the actor's process does not allow the call (``allow(_:calls:)``), or its actor is of another
///   type;
/// - `.serverFailed`: the target threw another error, or the arguments or the result could not be decoded or encoded
///   there; the message has the reason;
/// - `.timedOut`, `.decodingFailed`, `.encodingFailed`, `.payloadTooLarge`, `.full`, `.noSpace`, `.removed`, `.forked`,
///   `.system`: as for a request.
///
/// ### Actors
///
/// The system does not keep its actors alive: the program does. When an actor is released, its ``ActorID`` ends, and
/// its names do (``register(_:as:)``). A process may have several systems; each has IDs of its own, and an actor of
/// one is remote for the other.
///
/// The system serves as long as it exists; each of its actors keeps it. It has one thread, which sleeps, and one more
/// for each registered name. For each process that it calls, the center object has a thread as for the name of a
/// request. If the center ends and the center object follows its name, the system goes on in the next center, and IDs
/// stay valid there. Otherwise it ends with the center. In a forked child the system has ended, and each call fails
/// with `.forked`: the child opens the center and makes another one.
///
/// ### Trust
///
/// Swift's runtime finds a target by a text that the caller sends, for any actor type and any generic arguments.
/// Therefore this system passes on only what its own process has allowed (``allow(_:calls:)``): a peer chooses among
/// these targets, and can send any values as their arguments. No type is looked up by a name from a peer.
public final class SharedActorSystem: DistributedActorSystem {
    /// What arguments and results are, as ``SharedActorSystem`` says.
    public typealias SerializationRequirement = any Codable

    /// How long a call made by the current task waits for its answer; `nil`: as long as its system says.
    ///
    /// ```swift
    /// let system = try SharedActorSystem(in: .default)
    /// try await SharedActorSystem.$timeout.withValue(.seconds(2)) {
    ///     _ = try await system.resolve(Renderer.self, named: "renderer").render(page: 3)
    /// }
    /// distributed actor Renderer {
    ///     typealias ActorSystem = SharedActorSystem
    ///     distributed func render(page: Int) -> String { "page \(page)" }
    /// }
    /// ```
    @TaskLocal public static var timeout: Duration?

    let center: SharedNotificationCenter
    let id = UUID()
    let state = Locked(State())
    private let usualTimeout: Duration?
    /// How long a call of the current task waits.
    var waiting: Duration? { Self.timeout ?? usualTimeout }

    struct State: Sendable {
        var last: UInt64 = 0
        var actors: [UInt64: Entry] = [:]
        var allowed = AllowedCalls()
        var errors: [String: any (Error & Codable).Type] = [:]
        var server: SharedNotificationCenter.Server?
    }

    /// An actor of this system, from the assignment of its ID on.
    struct Entry: Sendable {
        /// `nil` before its initializer has ended, and after its release.
        weak var actor: (any DistributedActor)?
        var names: [SharedNotificationCenter.Name: SharedNotificationCenter.Server] = [:]
        var watchers: [UInt64: AsyncStream<Never>.Continuation] = [:]
    }

    /// Creates a system, and serves calls of its actors. ``SharedActorSystem`` has an example.
    ///
    /// Waits, as `serve(_:options:using:)` does, for a process that reports the death of
    /// another one.
    ///
    /// - Parameters:
    ///   - center: the center that all processes use.
    ///   - timeout: how long a call waits for its answer; `nil`: without end. ``timeout`` sets it for a task.
    /// - Throws: `SharedNotificationError` as `serve` does, among them `.notPermitted` (the center was opened for
    ///   reading alone), `.tooManyObservers`, `.tooManyParticipants`, `.noSpace`, `.removed`, `.forked`, `.system`.
    public init(
        in center: SharedNotificationCenter, timeout: Duration? = nil
    ) throws(SharedNotificationError) {
        self.center = center
        usualTimeout = timeout
        // Without a limit of its own: an actor that waits for another one, which calls it back, holds no place that
        // the other one needs. The center bounds the calls of all callers together.
        let server = try center.serve(name: Self.name(of: id), options: .init(concurrency: .max)) {
            [weak self] payload, _, _ in
            guard let self else { throw CancellationError() }
            return try await self.answer(payload)
        }
        state.withLock { $0.server = server }
    }

    /// The request name of a system.
    static func name(of system: UUID) -> SharedNotificationCenter.Name { .init("tidings.actors.system.\(system)") }

    // MARK: Actors

    /// Finds an actor of this system, or makes a reference to one of another system. Does not ask its process.
    ///
    /// `Act.resolve(id:using:)` calls this, as ``ActorID`` shows; ``resolve(_:named:)`` finds an actor by a name.
    ///
    /// - Returns: the actor; `nil`: it is an actor of another system.
    /// - Throws: `SharedNotificationError`: `.notFound` (this system's actor was released), `.notPermitted` (it is of
    ///   another type).
    public func resolve<Act>(id: ActorID, as actorType: Act.Type) throws -> Act?
    where Act: DistributedActor, Act.ID == ActorID {
        guard id.system == self.id else { return nil }
        guard let actor = state.withLock({ $0.actors[id.number]?.actor }) else {
            throw SharedNotificationError(.notFound, message: "can't resolve actor \(id): it was released")
        }
        guard let actor = actor as? Act else {
            throw SharedNotificationError(
                .notPermitted,
                message: "can't resolve actor \(id) as \(Act.self): it is a \(type(of: actor)); resolve it as that")
        }
        return actor
    }

    /// Numbers an actor. Its initializer calls this; ``SharedActorSystem`` shows one.
    public func assignID<Act>(_ actorType: Act.Type) -> ActorID where Act: DistributedActor, Act.ID == ActorID {
        let number = state.withLock { state in
            state.last += 1
            state.actors[state.last] = Entry()
            return state.last
        }
        return ActorID(system: id, number: number)
    }

    /// From here on calls reach the actor. Its initializer calls this; ``SharedActorSystem`` shows one. The system does
    /// not keep the actor alive.
    public func actorReady<Act>(_ actor: Act) where Act: DistributedActor, Act.ID == ActorID {
        state.withLock { $0.actors[actor.id.number]?.actor = actor }
    }

    /// Ends an ID, and the names of its actor. The actor's deinitializer calls this; ``SharedActorSystem`` shows an
    /// actor.
    ///
    /// Waits for the threads of its names, if it has names.
    public func resignID(_ id: ActorID) {
        // What the entry holds is released here, without the lock.
        let entry = state.withLock { $0.actors.removeValue(forKey: id.number) }
        for watcher in entry?.watchers.values ?? [:].values { watcher.finish() }
    }

    // MARK: Calling

    /// Collects what a call sends. Generated code calls this; ``SharedActorSystem`` shows a call.
    public func makeInvocationEncoder() -> InvocationEncoder { InvocationEncoder() }

    /// Calls a target that returns a value. Generated code calls this; ``SharedActorSystem`` shows a call.
    ///
    /// - Throws: an error that the target threw and ``allow(errors:)`` names, `CancellationError`, or
    ///   `SharedNotificationError`: `.noServer`, `.serverEnded`, `.notFound`, `.notPermitted`, `.serverFailed`,
    ///   `.timedOut`, `.decodingFailed` and others, as ``SharedActorSystem`` says.
    public func remoteCall<Act, Err, Res>(
        on actor: Act, target: RemoteCallTarget, invocation: inout InvocationEncoder, throwing: Err.Type,
        returning: Res.Type
    ) async throws -> Res where Act: DistributedActor, Act.ID == ActorID, Err: Error, Res: Codable {
        guard case .returned(let value) = try await call(actor.id, target, invocation) else {
            throw failure(.decodingFailed, target, actor.id, "its process returned nothing")
        }
        do {
            return try decode(Res.self, from: value)
        } catch {
            throw failure(.decodingFailed, target, actor.id, "the result is no \(Res.self): \(error)", error)
        }
    }

    /// Calls a target that returns nothing. Generated code calls this; ``SharedActorSystem`` shows a call.
    ///
    /// - Throws: as a call that returns a value does: `SharedNotificationError` and others; `.decodingFailed` if
    ///   there is a value.
    public func remoteCallVoid<Act, Err>(
        on actor: Act, target: RemoteCallTarget, invocation: inout InvocationEncoder, throwing: Err.Type
    ) async throws where Act: DistributedActor, Act.ID == ActorID, Err: Error {
        guard case .returnedNothing = try await call(actor.id, target, invocation) else {
            throw failure(.decodingFailed, target, actor.id, "its process returned a value")
        }
    }

    /// - Returns: `returned` or `returnedNothing`.
    private func call(
        _ actor: ActorID, _ target: RemoteCallTarget, _ invocation: InvocationEncoder
    ) async throws -> Answer {
        try Recording.current?.record(actor, target, invocation)
        let call = Call(target: target.identifier, substitutions: invocation.substitutionNames)
        let answer = try await ask(
            .call(actor.number, call, invocation.arguments), of: actor, timeout: waiting
        ) {
            failure($0, target, actor, $1, $2)
        }
        switch answer {
        case .returned, .returnedNothing: return answer
        case .noActor: throw failure(.notFound, target, actor, "it was released")
        case .notAllowed:
            throw failure(
                .notPermitted, target, actor,
                "its process does not allow the call of such an actor; name the call in its allow(_:calls:)")
        case .threw(let type, let value, let text):
            if let value, let known = state.withLock({ $0.errors[type] }), let error = try? decode(known, from: value) {
                throw error
            }
            throw failure(.serverFailed, target, actor, "it threw \(line(type)): \(line(text))")
        }
    }

    /// Makes a request to an actor's system.
    ///
    /// - Parameter failure: makes the error, of its code, its reason and its cause.
    func ask(
        _ question: Question, of actor: ActorID, timeout: Duration?,
        failure: (SharedNotificationError.Code, String, (any Error)?) -> SharedNotificationError
    ) async throws -> Answer {
        do {
            return try await center.request(
                name: Self.name(of: actor.system), payload: .init(encoding: question), timeout: timeout,
                options: .init()
            ).decode(Answer.self)
        } catch let error as SharedNotificationError where error.code == .noServer || error.code == .serverEnded {
            throw failure(error.code, "its process has ended, or its actor system", error)
        } catch let error as SharedNotificationError {
            throw failure(error.code, error.message, error)
        } catch let error as EncodingError {
            throw failure(.encodingFailed, "\(error)", error)
        } catch let error as DecodingError {
            throw failure(.decodingFailed, "\(error)", error)
        }
    }

    private func failure(
        _ code: SharedNotificationError.Code, _ target: RemoteCallTarget, _ actor: ActorID, _ reason: String,
        _ cause: (any Error)? = nil
    ) -> SharedNotificationError {
        SharedNotificationError(
            code, message: "can't call \(target) of actor \(actor): \(reason)", underlyingError: cause)
    }

    /// A text of another process, as one line of bounded length.
    private func line(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(1000))).split(whereSeparator: \.isNewline)
            .joined(separator: " ")
    }
}

/// Errors of calls that are not the target's own.
extension SharedNotificationError: DistributedActorSystemError {}
