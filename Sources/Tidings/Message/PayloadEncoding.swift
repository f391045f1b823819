extension SharedNotificationCenter {
    /// The format of a payload's bytes. On the wire: one byte.
    ///
    /// ```swift
    /// let picture = SharedNotificationCenter.RawPayload(format: .bytes, bytes: [0x89, 0x50, 0x4e, 0x47])
    /// try SharedNotificationCenter.default.post(name: "com.example.picture", payload: picture)
    /// ```
    public struct PayloadFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The byte that stands for the format on the wire.
        public var rawValue: UInt8

        /// Creates the format of a byte. 64 and above are for programs' own coders; lower numbers are reserved.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Bytes whose meaning poster and observer have agreed on.
        public static let bytes = PayloadFormat(rawValue: 0)
        /// CBOR, as defined by RFC 8949.
        public static let cbor = PayloadFormat(rawValue: 1)
        /// 8 bytes of layout fingerprint, then the value's bytes in memory.
        public static let bitwise = PayloadFormat(rawValue: 2)
        /// JSON in UTF-8, as defined by RFC 8259.
        public static let json = PayloadFormat(rawValue: 3)
        /// Text in UTF-8.
        public static let text = PayloadFormat(rawValue: 4)

        /// The format's name, or its number.
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

    /// A program's own coder: converts values to bytes and back.
    ///
    /// ```swift
    /// struct PropertyLists: SharedNotificationCenter.PayloadCoder {
    ///     let format = SharedNotificationCenter.PayloadFormat(rawValue: 64)
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
    /// `encode` runs on the poster's thread, `decode` where the observer's closure runs. An error of `encode` reaches
    /// the poster as ``SharedNotificationError/Code-swift.struct/encodingFailed``. An error of `decode` reaches the
    /// observer's `onUndecodable`.
    public protocol PayloadCoder: Sendable {
        /// The format's number, 64 or above. Poster and observer must use it for the same format.
        var format: PayloadFormat { get }
        /// Encodes a value, as ``PayloadCoder`` shows.
        ///
        /// - Throws: any error. The poster receives `.encodingFailed`, whose message contains the error's description;
        ///   nothing was posted.
        func encode<T: Encodable>(_ value: T) throws -> [UInt8]
        /// Decodes a value, as ``PayloadCoder`` shows, from bytes that are valid during this call only. They may be
        /// anything: any poster can mark bytes as this format.
        ///
        /// - Throws: any error. The observer's `onUndecodable` receives it.
        func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T
    }

    /// The encoding of a message type: see ``Message/encoding``.
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
        init(kind: Kind) { self.kind = kind }

        /// CBOR (RFC 8949), written directly into shared memory, readable by any CBOR library.
        @inlinable public static var cbor: PayloadEncoding { PayloadEncoding(kind: .cbor) }
        /// JSON, by Foundation's encoder.
        ///
        /// A `Date` is a number of seconds since 1970, as ``RawPayload/json`` shows it. If no double has that number
        /// exactly, the encoder writes a text as in RFC 3339 with all digits, `"2023-11-14T22:13:20.1000001Z"`. The
        /// decoder accepts both, and every such date is decoded exactly.
        @inlinable public static var json: PayloadEncoding { PayloadEncoding(kind: .json) }
        /// The value's bytes in memory. A type gets this encoding by adopting ``BitwiseMessage`` only.
        @inlinable static var bitwise: PayloadEncoding { PayloadEncoding(kind: .bitwise) }
        /// A program's own coder, which also decodes payloads of its format. ``PayloadCoder`` has an example.
        public static func custom(_ coder: any PayloadCoder) -> PayloadEncoding {
            PayloadEncoding(kind: .custom(coder))
        }
    }
}
