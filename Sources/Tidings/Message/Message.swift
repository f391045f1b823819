extension SharedNotificationCenter {
    /// A type whose values can be posted.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message {
    ///     static let name: SharedNotificationCenter.Name = "com.example.player.trackChanged"
    ///     var title: String
    /// }
    /// ```
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
    /// Before the bytes go 8 bytes of fingerprint of the type's ``Message/name``, size, stride and alignment. A notification with
    /// another fingerprint is undecodable (fields that changed places without changing those are not noticed: give a changed
    /// type a new name). One encoded in another way, say as JSON by the command, is decoded as such.
    ///
    /// A poster can put any bits there. Adopt it only for types of which every bit pattern is a value, such as structs of
    /// integers and floating-point numbers; not with `Bool`, enumerations or pointers inside, unless every process that may
    /// post is trusted.
    public protocol BitwiseMessage: Message, BitwiseCopyable {}
}

extension SharedNotificationCenter.Message {
    /// The type's own name, without its module.
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
