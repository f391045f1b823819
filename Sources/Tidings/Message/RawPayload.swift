extension SharedNotificationCenter {
    /// A payload as it travels: what it is, and its bytes.
    public struct RawPayload: Hashable, Sendable {
        /// What the bytes are.
        public var format: PayloadFormat
        /// The payload itself.
        public var bytes: [UInt8]

        /// Bytes that are of that format; nobody checks.
        public init(format: PayloadFormat, bytes: [UInt8]) {
            self.format = format
            self.bytes = bytes
        }

        /// A value encoded as CBOR.
        ///
        /// - Throws: what the value's `encode(to:)` threw.
        public init(encoding value: some Encodable) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: value))
        }

        /// A message encoded as CBOR, by what `@Message` generated for its type if it did.
        ///
        /// - Throws: what the message's `encode(to:)` threw.
        public init<M: Message>(encoding message: M) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: message))
        }

        /// UTF-8 text.
        public static func text(_ text: String) -> RawPayload {
            RawPayload(format: .text, bytes: Array(text.utf8))
        }

        /// JSON text. Not checked: observers that decode it find out.
        public static func json(_ text: String) -> RawPayload {
            RawPayload(format: .json, bytes: Array(text.utf8))
        }

        /// No payload at all.
        public static let empty = RawPayload(format: .bytes, bytes: [])

        /// Decodes a value from CBOR, JSON or, for a ``BitwiseMessage``, its bytes in memory.
        ///
        /// - Throws: what the decoder threw, or a `DecodingError` if the format is none of these, or the bytes are those of another
        ///   type.
        public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try bytes.withUnsafeBytes { try PayloadCoding.decode(type, format: format, bytes: $0) }
        }

        /// The same, and faster where the type is known to the compiler.
        @inlinable
        public func decode<M: BitwiseMessage>(_ type: M.Type = M.self) throws -> M {
            guard format.rawValue == PayloadFormat.bitwise.rawValue else { return try decodeAsEncoded(type) }
            return try bytes.withUnsafeBytes { bytes in
                try checkBitwise(bytes, for: type, size: MemoryLayout<M>.size)
                return bytes.loadUnaligned(fromByteOffset: 8, as: M.self)
            }
        }

        /// The same, for the caller's generic code that the compiler specialises.
        @inlinable
        public func decode<M: Message>(_ type: M.Type = M.self) throws -> M {
            guard format.rawValue == PayloadFormat.bitwise.rawValue, case .bitwise = M.encoding.kind else {
                return try decodeMessage(type)
            }
            return try bytes.withUnsafeBytes { bytes in
                try checkBitwise(bytes, for: type, size: MemoryLayout<M>.size)
                return withUnsafeTemporaryAllocation(of: M.self, capacity: 1) { value in
                    // The type is BitwiseCopyable: no other can have that encoding, which is out of reach outside this module.
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

        /// Throws unless they are a fingerprint of that type and a value of that size.
        @usableFromInline
        func checkBitwise(
            _ bytes: UnsafeRawBufferPointer, for type: any Message.Type, size: Int
        ) throws {
            try PayloadCoding.checkBitwise(bytes, for: type, size: size)
        }

        /// The payload as one line of JSON, whatever its format. Never fails: what can't be shown otherwise becomes a string of
        /// hexadecimal digits in an object, `{"bytes":"00ff"}`.
        public var json: String { JSONRendering.render(self) }
    }

    /// A notification with its payload as it travels.
    public struct RawNotification: Hashable, Sendable {
        /// Its name.
        public var name: Name
        /// The payload as it travels.
        public var payload: RawPayload
        /// What else is known about it.
        public var envelope: Envelope
    }
}
