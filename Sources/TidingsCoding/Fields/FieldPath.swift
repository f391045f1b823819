/// Paths of errors, put together on the way up: a coder that goes well keeps no account of where it is.
@usableFromInline
enum FieldPath {
    /// - Parameter key: a name or an index.
    @usableFromInline @inline(never)
    static func error(
        _ error: any Error, at key: some CustomStringConvertible, expecting type: Any.Type = Any.self
    ) -> any Error {
        let key = CBORKey(stringValue: key.description, intValue: key as? Int)
        switch error {
        case let fault as CBORFault: return fault.error(expecting: type, path: [key])
        case let error as DecodingError: return prefixed(error, key)
        case let error as EncodingError: return prefixed(error, key)
        default: return error
        }
    }

    private static func prefixed(_ error: DecodingError, _ key: CBORKey) -> DecodingError {
        func longer(_ context: DecodingError.Context) -> DecodingError.Context {
            DecodingError.Context(
                codingPath: [key] + context.codingPath, debugDescription: context.debugDescription,
                underlyingError: context.underlyingError)
        }
        switch error {
        case .typeMismatch(let type, let context): return .typeMismatch(type, longer(context))
        case .valueNotFound(let type, let context): return .valueNotFound(type, longer(context))
        case .keyNotFound(let missing, let context): return .keyNotFound(missing, longer(context))
        case .dataCorrupted(let context): return .dataCorrupted(longer(context))
        @unknown default: return error
        }
    }

    private static func prefixed(_ error: EncodingError, _ key: CBORKey) -> EncodingError {
        guard case .invalidValue(let value, let context) = error else { return error }
        return .invalidValue(
            value,
            EncodingError.Context(
                codingPath: [key] + context.codingPath, debugDescription: context.debugDescription,
                underlyingError: context.underlyingError))
    }
}
