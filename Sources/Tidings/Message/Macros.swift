// Behind the trait `Macros`: whoever doesn't ask for it neither fetches nor builds swift-syntax.
#if Macros
    /// Makes a struct a message, and writes the coder that takes its fields to CBOR and back without asking `Codable`.
    ///
    /// ```swift
    /// @Message struct TrackChanged {
    ///     var title: String
    ///     var position = 0.0
    ///     var subtitle: String?
    /// }
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// try center.post(TrackChanged(title: "So What"))
    /// ```
    ///
    /// Promise: the bytes are those that `Codable` would make of the struct, so that programs built with and without the macro understand each
    /// other, and it takes a fraction of the time. For payloads in JSON, and within types that only `Codable` knows, `Codable` is asked.
    ///
    /// An observer whose build differs from the poster's goes by its own struct:
    /// - a field that it doesn't know is passed over;
    /// - one that the payload lacks has the value that its declaration gives it, or is `nil` if it is an optional (also where the
    ///   declaration gives another value: what is `nil` isn't sent);
    /// - one without either, or one of another type, makes the payload undecodable, which is reported as always.
    ///
    /// Fields are the stored properties. Their types must be written, but for literals: a macro doesn't know what the compiler infers.
    /// Numbers, texts, truth values, optionals, arrays, dictionaries with texts as keys, and other structs with `@Message` are coded directly,
    /// whatever else is `Codable` by `Codable`. An enumeration `CodingKeys` in the struct gives fields other names, and leaves out those
    /// that it doesn't list.
    ///
    /// Refused, with the reason: types other than structs, generic ones, `BitwiseMessage`s, coders of the struct's own, property
    /// wrappers, `lazy`, fields within `#if`.
    @attached(
        extension, conformances: SharedNotificationCenter.Message,
        names: named(name), named(encodeField), named(init(decodingField:)), named(CodingKeys), named(init(from:)))
    public macro Message() = #externalMacro(module: "TidingsMacros", type: "MessageMacro")

    /// The same, and says the message's name.
    ///
    /// ```swift
    /// @Message("com.example.player.trackChanged") struct TrackChanged {
    ///     var title: String
    /// }
    /// ```
    ///
    /// - Parameter name: what its notifications are called, in all processes. Default: the type's own name.
    @attached(
        extension, conformances: SharedNotificationCenter.Message,
        names: named(name), named(encodeField), named(init(decodingField:)), named(CodingKeys), named(init(from:)))
    public macro Message(_ name: SharedNotificationCenter.Name) =
        #externalMacro(module: "TidingsMacros", type: "MessageMacro")
#endif
