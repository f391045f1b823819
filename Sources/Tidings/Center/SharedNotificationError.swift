/// Why an operation failed: the kind of failure for programs, and one line for people.
///
/// ```swift
/// do {
///     let player = SharedNotificationCenter.Configuration(creation: .never)
///     let center = try SharedNotificationCenter(named: "com.example.player", configuration: player)
///     try center.post(name: "com.example.changed")
/// } catch {
///     switch error.code {
///     case .notFound: print("no player has run yet")
///     default: print(error.message)
///     }
/// }
/// ```
///
/// A function's documentation names the kinds of failure that are specific to it. Each function that reads or writes a
/// center can also throw these kinds:
/// - ``Code-swift.enum/notACenter``: the center's memory contradicts itself.
/// - ``Code-swift.enum/forked`` and ``Code-swift.enum/tooManyParticipants``: from the first use of a center object in
///   a forked child, because the child takes a participant entry of its own.
/// - ``Code-swift.enum/system(_:)``: no memory, or the program closed the center's own descriptor.
public struct SharedNotificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. Programs decide by it, as ``SharedNotificationError`` shows.
    public enum Code: Hashable, Sendable {
        /// The name of a center, notification or subject is empty, too long, or has bytes that it must not have; or a
        /// name prefix contains a `*`.
        case invalidName
        /// A configuration or an argument is out of its range.
        case invalidArgument
        /// The payload is larger than the center's maximum.
        case payloadTooLarge
        /// The sealed center that a peer sent is larger than this process accepts. Nothing of it was mapped.
        case centerTooLarge
        /// The directory of the center is full, or the center has no free entry for another name or prefix. Nothing was
        /// done.
        case noSpace
        /// The center belongs to another user, its permissions forbid it, it was opened for reading alone, or another
        /// user may rename files in its directory.
        case notPermitted
        /// The file is not a center, or is damaged. It was not touched.
        case notACenter
        /// The center was made by a version of Tidings with another format.
        case incompatibleVersion
        /// There is no such center (or, for state, no such value).
        case notFound
        /// There is such a center already.
        case exists
        /// A lossless observer is a whole ring behind (with a deadline: it still was when the deadline passed). Or all
        /// chunks for payloads of that size hold retained values or are being written. Nothing was posted.
        case full
        /// The center was removed, deleted or replaced: open it again. Opening and removing throw this if another
        /// process has been removing the center for two seconds.
        case removed
        /// The sequence belongs to another center, most often an earlier one of the same name. Start with `.oldest` or
        /// `.now` (``SharedNotificationCenter/Start``).
        case otherIncarnation
        /// All participant entries of the center are taken.
        case tooManyParticipants
        /// All observer entries of the center are taken.
        case tooManyObservers
        /// The value could not be encoded; the message contains the encoder's error. Nothing was posted.
        case encodingFailed
        /// The value exists, but does not decode as the requested type.
        case decodingFailed
        /// This object belongs to the parent process; a forked child must open the center itself for this operation.
        case forked
        /// Any other error of the operating system, as an `errno`.
        case system(Int32)
    }

    /// The kind of failure.
    public let code: Code
    /// One line: the operation and its object, the reason of the failure, and what to do.
    public let message: String

    /// The same text as ``message``.
    public var description: String { message }

    /// Creates an error of that kind with that line, as the library throws it. For replacements of the library in
    /// tests.
    public init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }
}
