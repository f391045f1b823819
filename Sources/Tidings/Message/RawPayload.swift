extension SharedNotificationCenter {
    /// A payload as it travels: its format and its bytes.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: ["com.example.volume"]) { notification in
    ///     print(notification.payload.json, (try? notification.payload.decode(Double.self)) ?? 1)
    /// }
    /// try center.post(name: "com.example.volume", payload: .init(encoding: 0.5))
    /// ```
    public struct RawPayload: Hashable, Sendable {
        /// The format of the bytes.
        public var format: PayloadFormat
        /// The payload's bytes.
        public var bytes: [UInt8]

        /// Creates a payload from bytes of a format. The bytes are not checked.
        public init(format: PayloadFormat, bytes: [UInt8]) {
            self.format = format
            self.bytes = bytes
        }

        /// Encodes a value as CBOR.
        ///
        /// - Throws: the error of the value's `encode(to:)`, or an `EncodingError` if the value is nested more than 128
        ///   deep.
        public init(encoding value: some Encodable) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: value))
        }

        /// Encodes a message as CBOR, whatever its ``Message/encoding`` is. If `@Message` generated a coder for the
        /// type, the message is encoded by that coder.
        ///
        /// - Throws: the error of the message's `encode(to:)`, or an `EncodingError` if it is nested more than 128
        ///   deep.
        public init<M: Message>(encoding message: M) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: message))
        }

        /// A text as UTF-8, posted as ``json(_:)`` shows. It decodes as a `String`.
        public static func text(_ text: String) -> RawPayload {
            RawPayload(format: .text, bytes: Array(text.utf8))
        }

        /// A JSON text. The text is not checked before an observer decodes it.
        ///
        /// ```swift
        /// try SharedNotificationCenter.default.post(name: "com.example.volume", payload: .json("0.5"))
        /// ```
        public static func json(_ text: String) -> RawPayload {
            RawPayload(format: .json, bytes: Array(text.utf8))
        }

        /// No payload: zero bytes.
        public static let empty = RawPayload(format: .bytes, bytes: [])

        /// Decodes a value from CBOR, from JSON, from text (a `String`), or from a ``BitwiseMessage``'s bytes in
        /// memory.
        ///
        /// ```swift
        /// let numbers = try SharedNotificationCenter.RawPayload.json("[1, 2, 3]").decode([Int].self)
        /// ```
        ///
        /// - Throws: the decoder's error, or a `DecodingError` if the format is none of these, or the bytes are of
        ///   another type. Also a `DecodingError` if CBOR or JSON is nested more than 128 deep.
        public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try bytes.withUnsafeBytes { try PayloadCoding.decode(type, format: format, bytes: $0) }
        }

        /// Decodes a message that travels as its bytes in memory, as `decode(_:)` does; faster where the compiler knows
        /// the type.
        ///
        /// - Throws: a `DecodingError` if the bytes are of another type. In another format: the error of its decoder.
        @inlinable
        public func decode<M: BitwiseMessage>(_ type: M.Type = M.self) throws -> M {
            guard format.rawValue == PayloadFormat.bitwise.rawValue else { return try decodeAsEncoded(type) }
            return try bytes.withUnsafeBytes { bytes in
                try PayloadCoding.checkBitwise(bytes, for: type, size: MemoryLayout<M>.size)
                return bytes.loadUnaligned(fromByteOffset: 8, as: M.self)
            }
        }

        /// Decodes a message of any type, by the coder that `@Message` generated for the type, if there is one. Does
        /// not decode the format of a ``PayloadCoder``: use the coder itself.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let track = try SharedNotificationCenter.RawPayload.json(#"{"title":"So What"}"#).decode(TrackChanged.self)
        /// ```
        ///
        /// - Throws: a `DecodingError`, or the error of the type's `init(from:)`.
        @inlinable
        public func decode<M: Message>(_ type: M.Type = M.self) throws -> M {
            guard format.rawValue == PayloadFormat.bitwise.rawValue, case .bitwise = M.encoding.kind else {
                return try decodeMessage(type)
            }
            return try bytes.withUnsafeBytes { bytes in
                try PayloadCoding.checkBitwise(bytes, for: type, size: MemoryLayout<M>.size)
                return withUnsafeTemporaryAllocation(of: M.self, capacity: 1) { value in
                    // The type is BitwiseCopyable: only `BitwiseMessage` can have that encoding, which is not public.
                    UnsafeMutableRawBufferPointer(value).copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[8...]))
                    return value[0]
                }
            }
        }

        @usableFromInline
        func decodeAsEncoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try bytes.withUnsafeBytes { try PayloadCoding.decode(type, format: format, bytes: $0) }
        }

        @usableFromInline
        func decodeMessage<M: Message>(_ type: M.Type) throws -> M {
            guard format.rawValue == PayloadFormat.cbor.rawValue else {
                return self == .empty ? try PayloadCoding.messageOfNothing(type) : try decodeAsEncoded(type)
            }
            return try bytes.withUnsafeBytes { try PayloadCoding.messageInCBOR(type, $0) }
        }

        /// The payload as one line of JSON, whatever its format. Never fails: a payload without another form becomes an
        /// object with hexadecimal digits, `{"bytes":"00ff"}`.
        public var json: String { JSONRendering.render(self) }
    }
}
