// What a call sends and what comes back.
public import Distributed
import Tidings
import TidingsCoding

#if canImport(FoundationEssentials)
    import struct FoundationEssentials.Data
#else
    import struct Foundation.Data
#endif

/// What a system asks another one.
enum Question: Codable, Sendable {
    /// Each argument is CBOR of its own: the target's declaration says of what type.
    case call(UInt64, Call, [Data])
    /// Answered when that actor has been released.
    case end(UInt64)
}

/// A target, and its generic arguments by their names: what a caller chooses.
struct Call: Hashable, Codable, Sendable {
    var target: String
    var substitutions: [String]
}

enum Answer: Codable, Sendable {
    case returned(Data)
    case returnedNothing
    /// The error's type and description, and the error as CBOR if it is `Codable`.
    case threw(type: String, value: Data?, text: String)
    /// No such actor, or not any more.
    case noActor
    case notAllowed
}

extension SharedActorSystem {
    /// Decodes what another process sent. An actor in it is resolved in this system.
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        try bytes.withUnsafeBytes { try CBORPayloadDecoder(userInfo: [.actorSystemKey: self]).decode(type, from: $0) }
    }

    /// Collects what a call sends, for generated code. ``SharedActorSystem`` shows a call.
    public struct InvocationEncoder: DistributedTargetInvocationEncoder {
        /// What arguments are, as ``SharedActorSystem`` says.
        public typealias SerializationRequirement = any Codable

        var substitutions: [any Any.Type] = []
        var arguments: [Data] = []

        var substitutionNames: [String] { substitutions.map { String(reflecting: $0) } }

        /// Adds a generic argument, for generated code. ``SharedActorSystem`` shows a call.
        ///
        /// - Throws: nothing.
        public mutating func recordGenericSubstitution<T>(_ type: T.Type) throws {
            substitutions.append(type)
        }

        /// Encodes an argument, for generated code. ``SharedActorSystem`` shows a call.
        ///
        /// - Throws: `SharedNotificationError` `.encodingFailed`: the argument does not encode.
        public mutating func recordArgument<Value: Codable>(_ argument: RemoteCallArgument<Value>) throws {
            do {
                arguments.append(try encoded(argument.value))
            } catch {
                throw SharedNotificationError(
                    .encodingFailed,
                    message: """
                        can't call a distributed function: its argument \(arguments.count + 1), a \(Value.self), does \
                        not encode: \(error)
                        """,
                    underlyingError: error)
            }
        }

        /// Does nothing: the target's declaration says its error. ``SharedActorSystem`` shows a call.
        ///
        /// - Throws: nothing.
        public mutating func recordErrorType<E: Error>(_ type: E.Type) throws {}

        /// Does nothing: the target's declaration says its result. ``SharedActorSystem`` shows a call.
        ///
        /// - Throws: nothing.
        public mutating func recordReturnType<R: Codable>(_ type: R.Type) throws {}

        /// Does nothing. ``SharedActorSystem`` shows a call.
        ///
        /// - Throws: nothing.
        public mutating func doneRecording() throws {}
    }

    /// Decodes the arguments of a call as the types that its target declares, for Swift's runtime.
    /// ``SharedActorSystem`` shows a target.
    public struct InvocationDecoder: DistributedTargetInvocationDecoder {
        /// What arguments are, as ``SharedActorSystem`` says.
        public typealias SerializationRequirement = any Codable

        let system: SharedActorSystem
        /// Of this process's own call, as it was allowed.
        let substitutions: [any Any.Type]
        let arguments: [Data]
        private var next = 0

        init(_ system: SharedActorSystem, _ substitutions: [any Any.Type], _ arguments: [Data]) {
            self.system = system
            self.substitutions = substitutions
            self.arguments = arguments
        }

        /// The target's generic arguments: those of an allowed call. ``SharedActorSystem/allow(_:calls:)`` has an
        /// example.
        ///
        /// - Throws: nothing.
        public mutating func decodeGenericSubstitutions() throws -> [any Any.Type] { substitutions }

        /// The next argument. ``SharedActorSystem`` shows a target.
        ///
        /// - Throws: the error of the type's `init(from:)`, or a `DecodingError`, also if there is no further one.
        public mutating func decodeNextArgument<Argument: Codable>() throws -> Argument {
            guard next < arguments.count else {
                throw DecodingError.valueNotFound(
                    Argument.self, .init(codingPath: [], debugDescription: "there are \(next) arguments"))
            }
            defer { next += 1 }
            return try system.decode(Argument.self, from: arguments[next])
        }

        /// `nil`: the target's declaration says it. ``SharedActorSystem`` shows a target.
        ///
        /// - Throws: nothing.
        public mutating func decodeErrorType() throws -> (any Any.Type)? { nil }

        /// `nil`: the target's declaration says it. ``SharedActorSystem`` shows a target.
        ///
        /// - Throws: nothing.
        public mutating func decodeReturnType() throws -> (any Any.Type)? { nil }
    }

    /// Encodes the outcome of a target, for Swift's runtime. ``SharedActorSystem`` shows a target.
    public final class ResultHandler: DistributedTargetInvocationResultHandler, @unchecked Sendable {
        // Sendable: one task uses it, which runs the target and then reads the answer.

        /// What results are, as ``SharedActorSystem`` says.
        public typealias SerializationRequirement = any Codable

        var answer: Answer?

        init() {}

        /// The target returned a value. ``SharedActorSystem`` shows a target.
        ///
        /// - Throws: the error of the value's `encode(to:)`, or an `EncodingError`.
        public func onReturn<Success: Codable>(value: Success) async throws {
            answer = .returned(try encoded(value))
        }

        /// The target returned nothing. ``SharedActorSystem`` shows a target.
        ///
        /// - Throws: nothing.
        public func onReturnVoid() async throws {
            answer = .returnedNothing
        }

        /// The target threw an error, or an argument did not decode, or the result did not encode.
        /// ``SharedActorSystem/allow(errors:)`` has an example.
        ///
        /// - Throws: nothing.
        public func onThrow<Err: Error>(error: Err) async throws {
            // An error that does not encode arrives as its description.
            let value = (error as? any Encodable).flatMap { try? encoded($0) }
            let text = String(String.UnicodeScalarView("\(error)".unicodeScalars.prefix(1000)))
            // Of the error itself: `Err` is `any Error`.
            answer = .threw(type: String(reflecting: type(of: error as Any)), value: value, text: text)
        }
    }
}

private func encoded(_ value: some Encodable) throws -> Data {
    Data(try SharedNotificationCenter.RawPayload(encoding: value).bytes)
}
