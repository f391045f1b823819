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
    /// An observer may have been built with more fields than the poster, or fewer. It goes by its own type:
    /// - a field that it doesn't know is passed over;
    /// - an optional one that the payload lacks is `nil`;
    /// - any other one that the payload lacks makes it undecodable, **also where the declaration gives it a value**: the decoder that the
    ///   compiler writes for a `Codable` type does not look at `var position = 0.0`.
    ///
    /// A field that is added later must therefore be an optional, or the type one with `@Message` (the package's trait `Macros`), which takes the
    /// declaration's value, or it says itself what stands in:
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message {
    ///     var title: String
    ///     var subtitle: String?                   // added later, `nil` from older posters
    ///     var position = 0.0                      // added later, 0 from older posters: by init(from:), not by this line
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
    /// A field that changes its type, or its meaning, is another message: give it another name.
    ///
    /// ### Numbers
    ///
    /// An observer may have another type for a number than the poster, a `Decimal` included. One rule holds for CBOR and
    /// JSON. An integer is exact, or the payload is undecodable (`1.0` is the integer 1; 1.5, and 300 for a `UInt8`, are
    /// none). A `Double` or `Float` is the nearest to the number. If that is an infinity, or 0 for another number, the
    /// payload is undecodable. A ``BitwiseMessage`` converts nothing.
    ///
    /// ### What the fields may be
    ///
    /// The library's decoder refuses what is not a value, whoever posted it. For a type with an `init(from:)` of its own, this is up to that:
    /// some trap on what a poster can send, Foundation's among them. A `URLComponents` with a scheme that is none ends the process that
    /// decodes it. Put a `URL` or a `String` into a message in its place.
    public protocol Message: FieldCodable, Sendable {
        /// The name its notifications have, the same in all processes. It must not change while the process runs.
        ///
        /// Default: the type's own name without its module (`TrackChanged`), so that two programs that compile the same
        /// source agree. Types of other modules or nested elsewhere may have the same: give a name of your own to everything
        /// that leaves one program.
        static var name: Name { get }

        /// How its values are encoded when posted. Default: ``PayloadEncoding/cbor``.
        ///
        /// Observers go by what the notification says it is, so a change here needs no agreement.
        static var encoding: PayloadEncoding { get }
    }

    /// A message that travels as its bytes in memory: the cheapest there is, for plain numbers.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.BitwiseMessage { var x, y: Double }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: Moved.self) { place in print(place.x, place.y) }
    /// try center.post(Moved(x: 1, y: 2))
    /// ```
    ///
    /// Before the bytes go 8 bytes of fingerprint: of the type's ``Message/name``, its size, stride and alignment, and its
    /// fields in their order. A number counts as a signed integer, an unsigned integer, or a floating-point number; a
    /// vector, as its numbers; an inline array, and every other field without fields of its own, by its type's name. A
    /// notification with another fingerprint is undecodable, for no number is converted. Two fields of a kind that changed
    /// places are not noticed: give a changed type a new name. A notification in another format, such as JSON that the
    /// command posts, is decoded as that format.
    ///
    /// A poster can put any bits there. Adopt it only for types of which every bit pattern is a value, such as structs of
    /// integers and floating-point numbers; not with `Bool`, enumerations or pointers inside, unless every process that may
    /// post is trusted.
    public protocol BitwiseMessage: Message, BitwiseCopyable {}
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
