#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.UUID
#else
    public import struct Foundation.UUID
#endif

extension SharedActorSystem {
    /// The identity of one actor of one ``SharedActorSystem``.
    ///
    /// It is a value: a program can store it, send it in a message or as an argument, and resolve it in another process
    /// that has the center open. An actor that is an argument or a result travels as its ID.
    ///
    /// ```swift
    /// distributed actor Renderer {
    ///     typealias ActorSystem = SharedActorSystem
    ///     distributed func render(page: Int) -> String { "page \(page)" }
    /// }
    /// func render(_ id: SharedActorSystem.ActorID, in system: SharedActorSystem) async throws -> String {
    ///     try await Renderer.resolve(id: id, using: system).render(page: 1)
    /// }
    /// ```
    ///
    /// Promise: an ID belongs to one actor of one ``SharedActorSystem`` object, and ends with them. It is not used
    /// again: a later process never answers for it. It does not name the center, because ``system`` is another one in
    /// each process: in a center where that system does not serve, a call fails with `.noServer`.
    public struct ActorID: Hashable, Codable, Sendable, CustomStringConvertible {
        /// The system that the actor was created with: 122 random bits. A process has one for each of its systems.
        public let system: UUID
        /// The actor's number in its system, from 1 on.
        public let number: UInt64

        /// The number and the system, for people.
        public var description: String { "\(number)@\(system)" }
    }
}
