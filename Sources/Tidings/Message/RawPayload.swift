extension SharedNotificationCenter {
    /// A payload as it travels: what it is, and its bytes.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: ["com.example.volume"]) { notification in
    ///     print(notification.payload.json, (try? notification.payload.decode(Double.self)) ?? 1)
    /// }
    /// try center.post(name: "com.example.volume", payload: .init(encoding: 0.5))
    /// ```
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

        /// A value encoded as CBOR. ``RawPayload`` has an example.
        ///
        /// - Throws: what the value's `encode(to:)` threw, or an `EncodingError` beyond a depth of 128.
        public init(encoding value: some Encodable) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: value))
        }

        /// A message encoded as CBOR, whatever its ``Message/encoding`` is, by what `@Message` generated for its type if it did.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let payload = try SharedNotificationCenter.RawPayload(encoding: TrackChanged(title: "So What"))
        /// print(payload.json)                                 // {"title":"So What"}
        /// ```
        ///
        /// - Throws: what the message's `encode(to:)` threw, or an `EncodingError` beyond a depth of 128.
        public init<M: Message>(encoding message: M) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: message))
        }

        /// Text, as UTF-8; decodes as a `String`.
        ///
        /// ```swift
        /// try SharedNotificationCenter.default.post(name: "com.example.greeting", payload: .text("hello"))
        /// ```
        public static func text(_ text: String) -> RawPayload {
            RawPayload(format: .text, bytes: Array(text.utf8))
        }

        /// JSON text. Not checked: observers that decode it find out.
        ///
        /// ```swift
        /// try SharedNotificationCenter.default.post(name: "com.example.trackChanged", payload: .json(#"{"title":"So What"}"#))
        /// ```
        public static func json(_ text: String) -> RawPayload {
            RawPayload(format: .json, bytes: Array(text.utf8))
        }

        /// No payload at all.
        public static let empty = RawPayload(format: .bytes, bytes: [])

        /// Decodes a value from CBOR, JSON, text (a `String`) or, for a ``BitwiseMessage``, its bytes in memory.
        ///
        /// ```swift
        /// let payload = SharedNotificationCenter.RawPayload.json("[1, 2, 3]")
        /// let numbers = try payload.decode([Int].self)
        /// ```
        ///
        /// - Throws: what the decoder threw, or a `DecodingError` if the format is none of these, the bytes are those of another
        ///   type, or CBOR or JSON is nested more than 128 deep.
        public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try bytes.withUnsafeBytes { try PayloadCoding.decode(type, format: format, bytes: $0) }
        }

        /// Decodes a message that travels as its bytes in memory, faster where the compiler knows the type.
        ///
        /// ```swift
        /// struct Moved: SharedNotificationCenter.BitwiseMessage { var x, y: Double }
        /// let center = try SharedNotificationCenter.default
        /// let token = try center.addObserver(forNames: [Moved.name]) { notification in
        ///     if let place = try? notification.payload.decode(Moved.self) { print(place.x, place.y) }
        /// }
        /// ```
        ///
        /// - Throws: a `DecodingError` if the bytes are those of another type; if they came in another format, what its decoder threw.
        @inlinable
        public func decode<M: BitwiseMessage>(_ type: M.Type = M.self) throws -> M {
            guard format.rawValue == PayloadFormat.bitwise.rawValue else { return try decodeAsEncoded(type) }
            return try bytes.withUnsafeBytes { bytes in
                try checkBitwise(bytes, for: type, size: MemoryLayout<M>.size)
                return bytes.loadUnaligned(fromByteOffset: 8, as: M.self)
            }
        }

        /// Decodes a message of any type, by what `@Message` generated for it if it did.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let track = try SharedNotificationCenter.RawPayload.json(#"{"title":"So What"}"#).decode(TrackChanged.self)
        /// ```
        ///
        /// A payload of a ``PayloadCoder`` is not decoded here, but by its own.
        ///
        /// - Throws: a `DecodingError`, or what the type's `init(from:)` threw.
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

    /// A notification with its payload as it travels, undecoded.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: ["com.example.trackChanged", "com.example.volume"]) { notification in
    ///     print(notification.envelope.sequence, notification.name, notification.payload.json)
    /// }
    /// ```
    public struct RawNotification: Hashable, Sendable {
        /// Its name.
        public var name: Name
        /// The payload as it travels.
        public var payload: RawPayload
        /// What else is known about it.
        public var envelope: Envelope
    }
}
