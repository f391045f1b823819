/// What went wrong, and one line for people: what was tried on what, why it failed, what to do.
public struct SharedNotificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Hashable, Sendable {
        /// A center's, notification's or subject's name is empty, too long, or has bytes it must not have.
        case invalidName
        /// A configuration or an argument out of its range.
        case invalidArgument
        /// The payload is larger than the center's maximum.
        case payloadTooLarge
        /// The directory of the center is full, or the center has no room left of that kind. Nothing was done.
        case noSpace
        /// The center belongs to another user, or its permissions forbid it.
        case notPermitted
        /// The file is not a center, or is damaged. It was not touched.
        case notACenter
        /// The center was made by a version of Tidings with another format.
        case incompatibleVersion
        /// There is no such center (or, for state, no such value).
        case notFound
        /// There is such a center already.
        case exists
        /// A lossless observer is a whole ring behind; with a deadline: still was when it passed. Nothing was posted.
        case full
        /// The center was removed; open it anew.
        case removed
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

    /// An error of that kind, with its line.
    public init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }
}
