extension SharedNotificationCenter {
    /// What the bytes of a payload are. On the wire: one byte.
    public struct PayloadFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The byte it travels as.
        public var rawValue: UInt8

        /// The format of that byte.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Whatever both sides agreed on.
        public static let bytes = PayloadFormat(rawValue: 0)
        /// RFC 8949.
        public static let cbor = PayloadFormat(rawValue: 1)
        /// 8 bytes of layout fingerprint, then the value as it lies in memory.
        public static let bitwise = PayloadFormat(rawValue: 2)
        /// RFC 8259.
        public static let json = PayloadFormat(rawValue: 3)
        /// UTF-8.
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
    /// Called on the poster's thread to encode, and wherever the observer's closure runs to decode. Errors it throws when encoding
    /// reach the poster as ``SharedNotificationError/Code-swift.enum/encodingFailed``; when decoding, the observer's `onUndecodable`.
    public protocol PayloadCoder: Sendable {
        /// Its number, ``PayloadFormat/firstCustom`` or above. Both sides must mean the same by it.
        var format: PayloadFormat { get }
        /// The bytes of a value.
        func encode<T: Encodable>(_ value: T) throws -> [UInt8]
        /// A value from bytes that are valid for this call only.
        func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T
    }

    /// How a message type is encoded.
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
        @inlinable public static var json: PayloadEncoding { PayloadEncoding(kind: .json) }
        /// Raw bytes; by adopting ``BitwiseMessage`` only.
        @inlinable static var bitwise: PayloadEncoding { PayloadEncoding(kind: .bitwise) }
        /// A coder of your own. Payloads with its format number are decoded by it too.
        public static func custom(_ coder: any PayloadCoder) -> PayloadEncoding {
            PayloadEncoding(kind: .custom(coder))
        }
    }
}
