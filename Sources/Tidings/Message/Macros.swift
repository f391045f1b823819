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
    /// wrappers, `lazy`, tuples, functions, fields within `#if`.
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
    /// - Parameter name: what its notifications are called, in all processes: 1 to 255 bytes. Default: the type's own name.
    @attached(
        extension, conformances: SharedNotificationCenter.Message,
        names: named(name), named(encodeField), named(init(decodingField:)), named(CodingKeys), named(init(from:)))
    public macro Message(_ name: SharedNotificationCenter.Name) =
        #externalMacro(module: "TidingsMacros", type: "MessageMacro")

    /// Makes the methods of a protocol notifications, and writes a poster that has them, checked by the compiler on both sides.
    ///
    /// ```swift
    /// @NotificationProtocol
    /// protocol UserObserver: AnyObject {
    ///     func userNameChanged(oldName: String, newName: String)
    ///     func signedOut()
    /// }
    /// extension UserObserver { func signedOut() {} }          // optional: an observer may leave it out
    ///
    /// final class Roster: UserObserver, Sendable {
    ///     func userNameChanged(oldName: String, newName: String) { print("\(oldName) is \(newName) now") }
    /// }
    /// let center = try SharedNotificationCenter.default
    /// let roster = Roster()
    /// let token = try center.addObserver(roster, as: UserObserver.self)
    /// try UserObserverPoster(center).userNameChanged(oldName: "Ada Byron", newName: "Ada Lovelace")
    /// ```
    ///
    /// Beside the protocol stand `UserObserverPoster`, with the protocol's own methods, and `UserObserverMessages`, with a message for each: one
    /// without arguments is an empty one, so that arguments can be added. On the wire a method is called
    /// `UserObserver.userNameChanged(oldName:newName:)`, with a prefix `com.example.UserObserver.…`, so overloads differ;
    /// ``NotificationName(_:)`` gives a method another name. Arguments travel as a map of their labels
    /// (of their own names where the label is `_`) to their values, coded as ``Message()`` does it.
    ///
    /// A method that gets another argument keeps its observers if it keeps its name and peers can do without the argument: an optional one
    /// is `nil` where a poster doesn't send it, for others ``NotificationDefault(_:_:)`` says what to take.
    ///
    /// Refused, each with the reason and, where there is one, a fix: `async`, `throws`, results, generic methods, `some` types, associated
    /// types and conditions on them, `static` and `mutating` methods, `inout` and other specifiers, functions and tuples as arguments, settable
    /// properties, and protocols that others than objects could conform to. What is to be sent instead of a generic or an associated type
    /// only you know: the fix takes it out, and puts a placeholder, such as `<#Item#>`, wherever it was named.
    ///
    /// Other threads call an observer's methods. If the protocol inherits `SendableMetatype`, the compiler refuses a
    /// conformance that is isolated to an actor (`final class Screen: @MainActor ScreenObserver`). Without it, the compiler
    /// may accept such an observer, whose methods then run outside its actor.
    ///
    /// - Parameter prefix: in front of all names, to tell the protocols of one program from those of others: a literal.
    @attached(peer, names: suffixed(Poster), suffixed(Messages))
    public macro NotificationProtocol(prefix: String = "") =
        #externalMacro(module: "TidingsMacros", type: "NotificationProtocolMacro")

    /// What a method of a ``NotificationProtocol(prefix:)`` is called on the wire, behind the protocol's name.
    ///
    /// ```swift
    /// @NotificationProtocol
    /// protocol UserObserver: AnyObject {
    ///     @NotificationName("userNameChanged(oldName:newName:)")
    ///     func userNameChanged(oldName: String, newName: String, reason: String?)     // the reason is new
    /// }
    /// ```
    @attached(peer)
    public macro NotificationName(_ name: String) =
        #externalMacro(module: "TidingsMacros", type: "NotificationDetailMacro")

    /// What a parameter of a method is where a poster doesn't send it yet: a protocol's methods can't have default arguments.
    ///
    /// ```swift
    /// @NotificationProtocol
    /// protocol UserObserver: AnyObject {
    ///     @NotificationName("userNameChanged(oldName:newName:)")
    ///     @NotificationDefault("reason", "unknown")
    ///     func userNameChanged(oldName: String, newName: String, reason: String)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - parameter: its label, or its own name where the label is `_`.
    ///   - value: an expression of the parameter's type.
    @attached(peer)
    public macro NotificationDefault<Value>(_ parameter: String, _ value: Value) =
        #externalMacro(module: "TidingsMacros", type: "NotificationDetailMacro")
#endif
