// The public macros. The trait `Macros` enables them; a package without the trait neither fetches nor builds
// swift-syntax.
#if Macros
    /// Makes a struct a message, and generates a coder that converts its fields to and from CBOR without `Codable`.
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
    /// Promise: the bytes are those that `Codable` would make of the struct. Programs built with and without the macro
    /// therefore understand each other. The generated coder takes a fraction of the time. `Codable` codes payloads in
    /// JSON, and structs inside types that only `Codable` can code.
    ///
    /// An observer whose build differs from the poster's decodes by its own struct:
    /// - It ignores a field that it does not know.
    /// - A field that the payload lacks has the value of its declaration.
    /// - An optional field that the payload lacks is `nil`, also if the declaration gives another value: `nil` is not
    ///   sent.
    /// - Any other field that the payload lacks makes the payload undecodable, and so does a field of another type.
    ///   This is reported as for every message.
    ///
    /// Fields are the stored properties. Write the type of each field, unless its value is a literal: a macro does not
    /// know the type that the compiler infers. Numbers, texts, Booleans, optionals, arrays, dictionaries with texts as
    /// keys, and other structs with `@Message` are coded directly. `Codable` codes every other `Codable` type. An
    /// enumeration `CodingKeys` in the struct gives fields other names, and leaves out the fields that it does not
    /// list.
    ///
    /// The macro refuses, with the reason:
    /// - types other than structs, generic structs, `BitwiseMessage` types, and structs with their own coders;
    /// - property wrappers, `lazy`, tuples, functions, and fields within `#if`.
    @attached(
        extension, conformances: SharedNotificationCenter.Message,
        names: named(name), named(_encodeField), named(init(_decodingField:)), named(CodingKeys), named(init(from:)))
    public macro Message() = #externalMacro(module: "TidingsMacros", type: "MessageMacro")

    /// Makes a struct a message with the given name; otherwise like ``Message()``.
    ///
    /// ```swift
    /// @Message("com.example.player.trackChanged") struct TrackChanged { var title: String }
    /// ```
    ///
    /// - Parameter name: the name of its notifications in all processes: 1 to 255 bytes. Default: the type's own name.
    @attached(
        extension, conformances: SharedNotificationCenter.Message,
        names: named(name), named(_encodeField), named(init(_decodingField:)), named(CodingKeys), named(init(from:)))
    public macro Message(_ name: SharedNotificationCenter.Name) =
        #externalMacro(module: "TidingsMacros", type: "MessageMacro")

    /// Makes a protocol's methods notifications, and generates a poster with these methods. The compiler checks the
    /// poster's calls and the observers' methods.
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
    /// let token = try center.addObserver(roster, as: UserObserverMessages.self)
    /// try UserObserverPoster(center).userNameChanged(oldName: "Ada Byron", newName: "Ada Lovelace")
    /// ```
    ///
    /// The macro adds two types beside the protocol. `UserObserverPoster` has the protocol's own methods.
    /// `UserObserverMessages` has a message for each method. A method without arguments has an empty message, so that
    /// arguments can be added later.
    ///
    /// On the wire a method is called `UserObserver.userNameChanged(oldName:newName:)`, so overloads differ. With a
    /// prefix it is called `com.example.UserObserver.…`. ``NotificationName(_:)`` gives a method another name.
    /// Arguments travel as a map from their labels to their values, coded as by ``Message()``. Where the label is `_`,
    /// the key is the argument's own name.
    ///
    /// A method with a new argument keeps its observers on two conditions. It keeps its name, and its observers can do
    /// without the argument. An optional argument is `nil` where a poster does not send it. For other arguments,
    /// ``NotificationDefault(_:_:)`` declares the value.
    ///
    /// The macro refuses, with the reason and, where possible, a fix:
    /// - `async`, `throws`, results, generic methods and `some` types; associated types and conditions on them;
    /// - `static` and `mutating` methods, `inout` and other specifiers; functions and tuples as arguments;
    /// - settable properties, and protocols that types other than classes could conform to.
    ///
    /// The fix for a generic or an associated type removes it, and writes a placeholder, such as `<#Item#>`, at each
    /// use. Replace the placeholder by the type that is to be sent.
    ///
    /// The library calls an observer's methods on other threads. If the protocol inherits `SendableMetatype`, the
    /// compiler refuses a conformance that is isolated to an actor (`final class Screen: @MainActor ScreenObserver`).
    /// Without it, the compiler may accept such an observer, whose methods then run outside its actor.
    ///
    /// - Parameter prefix: a literal in front of all names, which distinguishes this program's protocols from those of
    ///   other programs.
    @attached(peer, names: suffixed(Poster), suffixed(Messages))
    public macro NotificationProtocol(prefix: String = "") =
        #externalMacro(module: "TidingsMacros", type: "NotificationProtocolMacro")

    /// The name on the wire of a method in a ``NotificationProtocol(prefix:)``, after the protocol's name.
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

    /// The value of a method's parameter if a poster does not send it. A protocol's methods cannot have default
    /// arguments.
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
    ///   - parameter: the parameter's label, or its own name where the label is `_`.
    ///   - value: an expression of the parameter's type.
    @attached(peer)
    public macro NotificationDefault<Value>(_ parameter: String, _ value: Value) =
        #externalMacro(module: "TidingsMacros", type: "NotificationDetailMacro")
#endif
