// The calls that peers may make, and their execution.
public import Distributed
import Tidings

/// For each actor type the calls that peers may make of it, with the types of their generic arguments.
struct AllowedCalls: Sendable {
    private var calls: [ObjectIdentifier: [Call: [any Any.Type]]] = [:]

    /// `nil`: not allowed.
    func substitutions(of call: Call, on type: any Any.Type) -> [any Any.Type]? {
        // Swift compares strings by canonical equivalence. Two equal strings of ASCII have the same bytes, and each
        // target of Swift is ASCII. So refuse other targets.
        guard call.target.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return calls[ObjectIdentifier(type)]?[call]
    }

    mutating func add(_ recorded: [(Call, [any Any.Type])], of type: any Any.Type) {
        for (call, substitutions) in recorded { calls[ObjectIdentifier(type), default: [:]][call] = substitutions }
    }
}

/// Records the calls that generated code makes on a reference whose actor does not exist. Nothing is sent.
final class Recording: Sendable {
    @TaskLocal static var current: Recording?

    struct Recorded: Error {}

    let actor: SharedActorSystem.ActorID
    let calls = Locked<[(Call, [any Any.Type])]>([])

    init(_ actor: SharedActorSystem.ActorID) {
        self.actor = actor
    }

    /// - Throws: `Recorded`, if the call is of the reference.
    func record(
        _ actor: SharedActorSystem.ActorID, _ target: RemoteCallTarget,
        _ invocation: SharedActorSystem.InvocationEncoder
    ) throws {
        guard actor == self.actor else { return }
        let call = Call(target: target.identifier, substitutions: invocation.substitutionNames)
        calls.withLock { $0.append((call, invocation.substitutions)) }
        throw Recorded()
    }
}

extension SharedActorSystem {
    /// Allows other processes, and other systems, to make calls of this system's actors of a type.
    ///
    /// ```swift
    /// distributed actor Store {
    ///     typealias ActorSystem = SharedActorSystem
    ///     distributed func count() -> Int { 0 }
    ///     distributed func add<Item: Codable & Sendable>(_ item: Item) {}
    /// }
    /// let system = try SharedActorSystem(in: .default)
    /// try await system.allow(
    ///     Store.self,
    ///     calls: { _ = try await $0.count() }, { try await $0.add("") }, { try await $0.add(0) })
    /// ```
    ///
    /// Each closure makes one call, of a reference to no actor. The call only records its target and its generic
    /// arguments; the values of the arguments do not matter. So a generic function is allowed for the types that a
    /// closure names. Promise: a call that no closure has named never reaches an actor, nor Swift's runtime; its caller
    /// catches `.notPermitted`. It holds for actors that exist and for later ones, and ends with the system.
    ///
    /// - Parameters:
    ///   - type: the actor type.
    ///   - calls: one call each.
    /// - Throws: `SharedNotificationError` `.invalidArgument`: a closure made no call; also the closure's own error,
    ///   if it throws before its call. No call is allowed then that was not before.
    public func allow<Act>(
        _ type: Act.Type, calls: (@Sendable (Act) async throws -> Void)...
    ) async throws where Act: DistributedActor, Act.ID == ActorID, Act.ActorSystem == SharedActorSystem {
        let recording = Recording(ActorID(system: .init(), number: 0))
        let reference = try Act.resolve(id: recording.actor, using: self)
        for (index, call) in calls.enumerated() {
            do {
                try await Recording.$current.withValue(recording) { try await call(reference) }
            } catch is Recording.Recorded {}
            guard recording.calls.withLock({ $0.count }) > index else {
                throw SharedNotificationError(
                    .invalidArgument,
                    message: """
                        can't allow call \(index + 1) of \(Act.self): the closure called no distributed function of \
                        its argument
                        """)
            }
        }
        let recorded = recording.calls.withLock { $0 }
        state.withLock { $0.allowed.add(recorded, of: type) }
    }

    /// Names errors that arrive here as themselves, if a target in another process throws them.
    ///
    /// ```swift
    /// struct MissingPage: Error, Codable { var page: Int }
    /// let system = try SharedActorSystem(in: .default)
    /// system.allow(errors: MissingPage.self)
    /// ```
    ///
    /// A target may throw any error, also where it declares one type: Swift tells the caller's process none. If the
    /// error is `Codable`, and this system has allowed a type with the same full name, then the call throws it. Any
    /// other error arrives as a `SharedNotificationError` with the code `.serverFailed` and the error's description. So
    /// a peer can't choose a type that this process did not name.
    public func allow(errors: (any (Error & Codable).Type)...) {
        state.withLock { state in
            for error in errors { state.errors[String(reflecting: error)] = error }
        }
    }

    // MARK: Answering

    /// - Throws: if the payload is no question, or the answer does not encode. The caller is told that.
    func answer(_ payload: SharedNotificationCenter.RawPayload) async throws -> SharedNotificationCenter.RawPayload {
        switch try payload.decode(Question.self) {
        case .end(let number):
            await end(of: number)
            return try .init(encoding: Answer.noActor)
        case .call(let number, let call, let arguments):
            let (actor, allowed) = state.withLock { ($0.actors[number]?.actor, $0.allowed) }
            guard let actor else { return try .init(encoding: Answer.noActor) }
            guard let substitutions = allowed.substitutions(of: call, on: type(of: actor)) else {
                return try .init(encoding: Answer.notAllowed)
            }
            var decoder = InvocationDecoder(self, substitutions, arguments)
            let handler = ResultHandler()
            try await executeDistributedTarget(
                on: actor, target: RemoteCallTarget(call.target), invocationDecoder: &decoder, handler: handler)
            guard let answer = handler.answer else { throw CancellationError() }
            return try .init(encoding: answer)
        }
    }
}
