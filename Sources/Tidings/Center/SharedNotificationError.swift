/// Why something failed: the kind of failure, to decide by, and one line for people.
///
/// ```swift
/// do {
///     let player = SharedNotificationCenter.Configuration(creation: .never)
///     try SharedNotificationCenter(named: "com.example.player", configuration: player).post(name: "com.example.changed")
/// } catch {
///     switch error.code {
///     case .notFound: print("no player has run yet")
///     default: print(error.message)
///     }
/// }
/// ```
///
/// A function's documentation names the kinds that it has reasons of its own for. Whatever looks into a center can also throw
/// ``Code-swift.enum/notACenter`` (the center's memory contradicts itself), ``Code-swift.enum/forked`` and
/// ``Code-swift.enum/tooManyParticipants`` (the first use of a center object in a forked child, which takes a place of its own), and
/// ``Code-swift.enum/system(_:)`` (no memory; or the program closed the center's own descriptor).
public struct SharedNotificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure: what programs decide by, as ``SharedNotificationError`` shows.
    public enum Code: Hashable, Sendable {
        /// A center's, notification's or subject's name is empty, too long, or has bytes it must not have; or what names begin with has a `*`.
        case invalidName
        /// A configuration or an argument out of its range.
        case invalidArgument
        /// The payload is larger than the center's maximum.
        case payloadTooLarge
        /// The sealed center that a peer sent is larger than this process accepts. Nothing of it was mapped.
        case centerTooLarge
        /// The directory of the center is full, or the center has no room left of that kind. Nothing was done.
        case noSpace
        /// The center belongs to another user, its permissions forbid it, it was opened for reading alone, or another user
        /// may rename files in its directory.
        case notPermitted
        /// The file is not a center, or is damaged. It was not touched.
        case notACenter
        /// The center was made by a version of Tidings with another format.
        case incompatibleVersion
        /// There is no such center (or, for state, no such value).
        case notFound
        /// There is such a center already.
        case exists
        /// A lossless observer is a whole ring behind; with a deadline: still was when it passed. Or all places for payloads of that size
        /// hold kept values, or are being filled. Nothing was posted.
        case full
        /// The center was removed, deleted or replaced: open it again. From opening and removing: another process has been removing it for two
        /// seconds.
        case removed
        /// The sequence belongs to another center, most often an earlier one of the same name. Start with `.oldest` or `.now`
        /// (``SharedNotificationCenter/Start``).
        case otherIncarnation
        /// All participant places of the center are taken.
        case tooManyParticipants
        /// All observer places of the center are taken.
        case tooManyObservers
        /// The value could not be encoded; the message has the encoder's words. Nothing was posted.
        case encodingFailed
        /// The value is there but does not decode as the type asked for.
        case decodingFailed
        /// This object belongs to the parent process; a forked child needs a center of its own for this.
        case forked
        /// Anything else the operating system said, as an `errno`.
        case system(Int32)
    }

    /// The kind of failure.
    public let code: Code
    /// One line: what was tried on what, why it failed, what to do.
    public let message: String

    /// The same as ``message``.
    public var description: String { message }

    /// An error of that kind with that line, as the library throws it: for what stands in for it in tests.
    public init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }
}
