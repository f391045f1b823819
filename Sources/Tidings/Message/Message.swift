// The protocols of types that can be posted: `Message`, coded by field; `BitwiseMessage`, sent as its bytes in memory;
// and `BytesMessage`, which converts itself.
import struct FoundationEssentials.Data

extension SharedNotificationCenter {
    /// A type whose values can be posted.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message {
    ///     static let name: SharedNotificationCenter.Name = "com.example.player.trackChanged"
    ///     var title: String
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self) { change in print(change.title) }
    /// try center.post(TrackChanged(title: "So What"))
    /// ```
    ///
    /// ### When the type changes
    ///
    /// An observer may have been built with more fields than the poster, or with fewer. It decodes by its own type:
    /// - It ignores a field that it does not know.
    /// - An optional field that the payload lacks is `nil`.
    /// - Any other field that the payload lacks makes the payload undecodable, **also where the declaration gives it a
    ///   value**. The decoder that the compiler generates for a `Codable` type ignores that value.
    ///
    /// A field that is added later therefore needs one of these:
    /// - an optional type;
    /// - `@Message` on the type (the package's trait `Macros`), which uses the declaration's value;
    /// - an `init(from:)` of the type that supplies the value:
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message {
    ///     var title: String
    ///     var subtitle: String?                   // added later, `nil` from older posters
    ///     var position = 0.0                      // added later, 0 from older posters: set by init(from:)
    ///
    ///     init(from decoder: any Decoder) throws {
    ///         let fields = try decoder.container(keyedBy: CodingKeys.self)
    ///         title = try fields.decode(String.self, forKey: .title)
    ///         subtitle = try fields.decodeIfPresent(String.self, forKey: .subtitle)
    ///         position = try fields.decodeIfPresent(Double.self, forKey: .position) ?? 0
    ///     }
    /// }
    /// ```
    ///
    /// If a field changes its type or its meaning, the type is another message: give it another name.
    ///
    /// ### Numbers
    ///
    /// An observer may declare another number type than the poster, also a `Decimal`. One rule holds for CBOR and JSON.
    /// An integer is exact, or the payload is undecodable. `1.0` is the integer 1; 1.5 is not an integer, and 300 is
    /// not a `UInt8`. A `Double` or `Float` is the nearest to the number. If the nearest value is an infinity, or is 0
    /// for a number other than 0, the payload is undecodable. A ``BitwiseMessage`` converts nothing.
    ///
    /// ### What the fields may be
    ///
    /// The library's decoder refuses input that is not a value of the field's type, from any poster. A type with its
    /// own `init(from:)` must check its input itself. Some types trap on input that a poster can send, among them types
    /// of Foundation. A `URLComponents` with an invalid scheme ends the process that decodes it. Use a `URL` or a
    /// `String` in a message instead.
    public protocol Message: _FieldCodable, Sendable {
        /// The name of its notifications, the same in all processes. It must not change while the process runs.
        ///
        /// Default: the type's own name without its module (`TrackChanged`), so that two programs that compile the same
        /// source agree. A type in another module, or nested in another type, may have the same name. Declare a name
        /// for each message that leaves one program.
        static var name: Name { get }

        /// The encoding of its values in a post. Default: ``PayloadEncoding/cbor``.
        ///
        /// Observers decode by the format in the notification, so a change of the encoding needs no agreement.
        static var encoding: PayloadEncoding { get }
    }

    /// A message that travels as its bytes in memory: the cheapest encoding, for plain numbers.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.BitwiseMessage { var x, y: Double }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: Moved.self) { place in print(place.x, place.y) }
    /// try center.post(Moved(x: 1, y: 2))
    /// ```
    ///
    /// A fingerprint of 8 bytes precedes the value. It covers the type's ``Message/name``, its size, stride and
    /// alignment, and its fields in their order. A number counts as a signed integer, an unsigned integer, or a
    /// floating-point number. A vector counts as its numbers. An inline array counts by its type's name, and so does
    /// every other field without fields of its own. If the fingerprint differs, the notification is undecodable,
    /// because no number is converted. The fingerprint does not change if two fields of the same kind are exchanged:
    /// give a changed type a new name. A notification in another format, such as JSON that the command posts, is
    /// decoded as that format.
    ///
    /// A poster can send any bits. Adopt this protocol only for types of which every bit pattern is a value, such as
    /// structs of integers and floating-point numbers. Use `Bool`, enumerations or pointers in the type only if every
    /// process that may post is trusted.
    public protocol BitwiseMessage: Message, BitwiseCopyable {}

    /// A message that converts itself to bytes and back, for a type that has a coder of its own and is not `Codable`: a
    /// message of protobuf, for example.
    ///
    /// ```swift
    /// struct Frame: SharedNotificationCenter.BytesMessage {
    ///     var pixels: [UInt8]
    ///     func payloadBytes() -> [UInt8] { pixels }
    ///     init(payloadBytes bytes: UnsafeRawBufferPointer) { pixels = Array(bytes) }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: Frame.self) { frame in print(frame.pixels.count) }
    /// ```
    ///
    /// The payload has the format ``PayloadFormat/bytes`` and holds nothing else, so a program in another language can
    /// read the bytes. In a payload of CBOR, for example as an argument of a ``Key``, the value is a byte string with
    /// these bytes. For a coder of `Codable` types, see ``PayloadCoder``.
    public protocol BytesMessage: Message {
        /// The message as bytes, at most as many as the center's maximum payload size, as ``BytesMessage`` shows.
        ///
        /// - Throws: any error. The poster receives `.encodingFailed`, whose message contains the error's description;
        ///   nothing was posted.
        func payloadBytes() throws -> [UInt8]

        /// Creates the message from bytes that are valid during this call only. They may be anything: every poster can
        /// send bytes under this name.
        ///
        /// - Throws: any error. The observer's `onUndecodable` receives it.
        init(payloadBytes bytes: UnsafeRawBufferPointer) throws
    }
}

extension SharedNotificationCenter.Message {
    /// The type's own name, without its module and what it is nested in.
    public static var name: SharedNotificationCenter.Name {
        SharedNotificationCenter.Name(String(describing: Self.self))
    }

    /// As CBOR.
    @inlinable
    public static var encoding: SharedNotificationCenter.PayloadEncoding { .cbor }
}

extension SharedNotificationCenter.BitwiseMessage {
    /// As its bytes in memory.
    @inlinable
    public static var encoding: SharedNotificationCenter.PayloadEncoding { .bitwise }
}

extension SharedNotificationCenter.BytesMessage {
    /// As ``payloadBytes()``.
    public static var encoding: SharedNotificationCenter.PayloadEncoding { .custom(BytesCoder()) }

    /// Writes the bytes as a byte string.
    ///
    /// - Throws: the error of ``payloadBytes()`` or of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payloadBytes()))
    }

    /// Reads the bytes from a byte string.
    ///
    /// - Throws: the error of ``init(payloadBytes:)`` or of the decoder.
    public init(from decoder: any Decoder) throws {
        let bytes = try decoder.singleValueContainer().decode(Data.self)
        self = try bytes.withUnsafeBytes { try Self(payloadBytes: $0) }
    }
}

/// Calls the coder that a `BytesMessage` is. Used for these types only.
private struct BytesCoder: SharedNotificationCenter.PayloadCoder {
    var format: SharedNotificationCenter.PayloadFormat { .bytes }

    func encode<T: Encodable>(_ value: T) throws -> [UInt8] {
        try (value as! any SharedNotificationCenter.BytesMessage).payloadBytes()
    }

    func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T {
        try (type as! any SharedNotificationCenter.BytesMessage.Type).init(payloadBytes: bytes) as! T
    }
}
