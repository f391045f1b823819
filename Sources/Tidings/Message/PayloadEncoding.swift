extension SharedNotificationCenter {
    /// What the bytes of a payload are. On the wire: one byte.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let picture = SharedNotificationCenter.RawPayload(format: .bytes, bytes: [0x89, 0x50, 0x4e, 0x47])
    /// try center.post(name: "com.example.picture", payload: picture)
    /// let token = try center.addObserver(forNames: ["com.example.picture"]) { notification in
    ///     if notification.payload.format == .bytes { print(notification.payload.bytes.count) }
    /// }
    /// ```
    public struct PayloadFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The byte it travels as.
        public var rawValue: UInt8

        /// The format of that byte.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Whatever both sides agreed on.
        public static let bytes = PayloadFormat(rawValue: 0)
        /// CBOR, as RFC 8949 has it.
        public static let cbor = PayloadFormat(rawValue: 1)
        /// 8 bytes of layout fingerprint, then the value as it lies in memory.
        public static let bitwise = PayloadFormat(rawValue: 2)
        /// JSON, as RFC 8259 has it: in UTF-8.
        public static let json = PayloadFormat(rawValue: 3)
        /// Text in UTF-8.
        public static let text = PayloadFormat(rawValue: 4)
        /// The first number free for coders of your own; those below are reserved.
        public static let firstCustom = PayloadFormat(rawValue: 64)

        /// Its name, or its number.
        public var description: String {
            switch self {
            case .bytes: "bytes"
            case .cbor: "CBOR"
            case .bitwise: "bitwise"
            case .json: "JSON"
            case .text: "text"
            default: "format \(rawValue)"
            }
        }
    }

    /// A coder of your own: how values become bytes and back.
    ///
    /// ```swift
    /// struct PropertyLists: SharedNotificationCenter.PayloadCoder {
    ///     let format = SharedNotificationCenter.PayloadFormat.firstCustom
    ///     func encode<T: Encodable>(_ value: T) throws -> [UInt8] { Array(try PropertyListEncoder().encode(value)) }
    ///     func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T {
    ///         try PropertyListDecoder().decode(type, from: Data(bytes))
    ///     }
    /// }
    /// struct TrackChanged: SharedNotificationCenter.Message {
    ///     static let encoding = SharedNotificationCenter.PayloadEncoding.custom(PropertyLists())
    ///     var title: String
    /// }
    /// try SharedNotificationCenter.default.post(TrackChanged(title: "So What"))
    /// ```
    ///
    /// Called on the poster's thread to encode, and wherever the observer's closure runs to decode. Errors it throws when encoding
    /// reach the poster as ``SharedNotificationError/Code-swift.enum/encodingFailed``; when decoding, the observer's `onUndecodable`.
    public protocol PayloadCoder: Sendable {
        /// Its number, ``PayloadFormat/firstCustom`` or above. Both sides must mean the same by it.
        var format: PayloadFormat { get }
        /// The bytes of a value. ``PayloadCoder`` has an example.
        ///
        /// - Throws: whatever you like. The poster gets `.encodingFailed`, whose message has your error's words; nothing was posted.
        func encode<T: Encodable>(_ value: T) throws -> [UInt8]
        /// A value from bytes that are valid for this call only. ``PayloadCoder`` has an example.
        ///
        /// The bytes may be anything: who may post to the center may say that they are of your format.
        ///
        /// - Throws: whatever you like. The observer's `onUndecodable` is told (``UndecodableMessage/error``).
        func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T
    }

    /// How a message type is encoded: ``Message/encoding``.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message {
    ///     static let encoding = SharedNotificationCenter.PayloadEncoding.json
    ///     var title: String
    /// }
    /// try SharedNotificationCenter.default.post(TrackChanged(title: "So What"))       // {"title":"So What"}
    /// ```
    public struct PayloadEncoding: Sendable {
        @usableFromInline
        enum Kind: Sendable {
            case cbor
            case bitwise
            case json
            case custom(any PayloadCoder)
        }

        @usableFromInline let kind: Kind

        @inlinable
        init(kind: Kind) {
            self.kind = kind
        }

        /// CBOR (RFC 8949), written straight into shared memory, readable by any CBOR library.
        @inlinable public static var cbor: PayloadEncoding { PayloadEncoding(kind: .cbor) }
        /// JSON, by Foundation's encoder.
        ///
        /// A `Date` is a number of seconds since 1970, as ``RawPayload/json`` shows it. If no double has that number
        /// exactly, the encoder writes a text as in RFC 3339 with all digits, `"2023-11-14T22:13:20.1000001Z"`. The
        /// decoder takes both, and every such date comes back exactly.
        @inlinable public static var json: PayloadEncoding { PayloadEncoding(kind: .json) }
        /// Raw bytes; by adopting ``BitwiseMessage`` only.
        @inlinable static var bitwise: PayloadEncoding { PayloadEncoding(kind: .bitwise) }
        /// By a coder of your own, which also decodes payloads of its format. ``PayloadCoder`` has an example.
        public static func custom(_ coder: any PayloadCoder) -> PayloadEncoding {
            PayloadEncoding(kind: .custom(coder))
        }
    }
}
