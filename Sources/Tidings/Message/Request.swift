import TidingsCoding

extension SharedNotificationCenter {
    /// A message that has an answer: the request of a caller, which one server replies to.
    ///
    /// ```swift
    /// struct Render: SharedNotificationCenter.Request {
    ///     static let name: SharedNotificationCenter.Name = "com.example.render"
    ///     typealias Reply = [UInt8]
    ///     struct Failure: Error, Codable { var missingPage: Int }
    ///     var page: Int
    /// }
    /// let center = try SharedNotificationCenter(named: "com.example.viewer")
    /// let server = try center.serve(Render.self) { request, envelope in
    ///     guard request.page < 100 else { throw Render.Failure(missingPage: request.page) }
    ///     return [UInt8](repeating: 0, count: 64)
    /// }
    /// let page = try await center.request(Render(page: 3), timeout: .seconds(2))
    /// ```
    ///
    /// Its ``Message/name`` has 1 to 238 bytes, and has nothing to do with notifications of the same name. A request
    /// travels as messages of its type do. A reply or failure that is a ``Message`` travels in its own encoding.
    /// Another one travels in the request's encoding if that is JSON or a ``PayloadCoder``, and otherwise as CBOR. Each
    /// of the three may be as large as the center's maximum payload size.
    public protocol Request: Message {
        /// What a server answers.
        associatedtype Reply: Codable & Sendable
        /// What a server may throw for the caller to catch as the same type. Default: nothing. Any other error arrives
        /// as a ``SharedNotificationError`` with the code `.serverFailed`.
        associatedtype Failure: Error & Codable & Sendable = Never
    }
}

/// The payloads of replies and failures.
extension SharedNotificationCenter.Request {
    typealias RawPayload = SharedNotificationCenter.RawPayload

    /// Encodes a reply or a failure.
    static func payload<Value: Encodable>(answering value: Value) throws -> RawPayload {
        if let message = value as? any SharedNotificationCenter.Message {
            return try RawPayload(inItsEncoding: message)
        }
        switch encoding.kind {
        case .json: return RawPayload(format: .json, bytes: try PayloadCoding.jsonBytes(of: value))
        case .custom(let coder) where isCodedByCoder:
            return RawPayload(format: coder.format, bytes: try coder.encode(value))
        case .cbor, .bitwise, .custom:
            return RawPayload(format: .cbor, bytes: try PayloadCoding.cborBytes(of: value))
        }
    }

    /// Decodes a reply or a failure.
    static func answer<Value: Decodable>(_ type: Value.Type, in payload: RawPayload) throws -> Value {
        if let type = type as? any SharedNotificationCenter.Message.Type {
            // It is `Value.Type`, whatever the payload is.
            return try payload.message(type) as! Value
        }
        if case .custom(let coder) = encoding.kind, isCodedByCoder, coder.format == payload.format {
            return try payload.bytes.withUnsafeBytes { try coder.decode(type, from: $0) }
        }
        return try payload.decode(type)
    }

    /// Whether the request's own coder codes other types, too.
    private static var isCodedByCoder: Bool { !(self is any SharedNotificationCenter.BytesMessage.Type) }
}

extension SharedNotificationCenter.RawPayload {
    /// Encodes a message as its ``SharedNotificationCenter/Message/encoding`` says.
    package init<M: SharedNotificationCenter.Message>(inItsEncoding message: M) throws {
        switch M.encoding.kind {
        case .cbor: self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: message))
        case .bitwise:
            var bytes = withUnsafeBytes(of: PayloadCoding.fingerprint(of: M.self).littleEndian) { Array($0) }
            withUnsafeBytes(of: message) { bytes += $0 }
            self.init(format: .bitwise, bytes: bytes)
        case .json: self.init(format: .json, bytes: try PayloadCoding.jsonBytes(of: message))
        case .custom(let coder): self.init(format: coder.format, bytes: try coder.encode(message))
        }
    }

    /// Decodes a message from the payload's format. The format of a type's own coder is decoded, too.
    func message<M: SharedNotificationCenter.Message>(_ type: M.Type) throws -> M {
        try bytes.withUnsafeBytes { try PayloadCoding.message(type, format: format.rawValue, bytes: $0) }
    }
}
