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
/// - ``Code-swift.struct/notACenter``: the center's memory contradicts itself.
/// - ``Code-swift.struct/forked`` and ``Code-swift.struct/tooManyParticipants``: from the first use of a center object
///   in a forked child, because the child takes a participant entry of its own.
/// - ``Code-swift.struct/system(_:)``: no memory, or the program closed the center's own descriptor. Reading a retained
///   value also throws it with `EBUSY`, if other processes replaced the value each time it was copied: try again.
public struct SharedNotificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. Programs decide by it, as ``SharedNotificationError`` shows. Later versions add kinds, so a
    /// `switch` over them has a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private let name: String
        /// The error number of the operating system, with ``system(_:)``; `nil` with every other kind.
        public let errno: Int32?

        /// The kind's own name, and the error number if there is one.
        public var description: String { errno.map { "\(name)(\($0))" } ?? name }

        private init(_ name: String, errno: Int32? = nil) {
            self.name = name
            self.errno = errno
        }

        /// The name of a center, notification or subject is empty, too long, or has bytes that it must not have; or a
        /// name prefix contains a `*`.
        public static let invalidName = Code("invalidName")
        /// A configuration or an argument is out of its range.
        public static let invalidArgument = Code("invalidArgument")
        /// The payload is larger than the center's maximum.
        public static let payloadTooLarge = Code("payloadTooLarge")
        /// The sealed center that a peer sent is larger than this process accepts. Nothing of it was mapped.
        public static let centerTooLarge = Code("centerTooLarge")
        /// The directory of the center is full, or the center has no free entry for another name or prefix. Nothing was
        /// done.
        public static let noSpace = Code("noSpace")
        /// The center belongs to another user, its permissions forbid it, it was opened for reading alone, or another
        /// user may rename files in its directory.
        public static let notPermitted = Code("notPermitted")
        /// The file is not a center, or is damaged. It was not touched.
        public static let notACenter = Code("notACenter")
        /// The center was made by a version of Tidings with another format.
        public static let incompatibleVersion = Code("incompatibleVersion")
        /// There is no such center (or, for state, no such value).
        public static let notFound = Code("notFound")
        /// There is such a center already.
        public static let exists = Code("exists")
        /// A lossless observer is a whole ring behind (with a timeout: it still was at the end). Or all chunks for
        /// payloads of that size hold retained values, are being written, or are held by processes that read them in
        /// place; the message names one. Nothing was posted. A request also throws this if all calls of the center are
        /// in use: four for each of its slots, at most 16,384.
        public static let full = Code("full")
        /// The center was removed, deleted or replaced: open it again. Opening and removing throw this if another
        /// process has been removing the center for two seconds.
        public static let removed = Code("removed")
        /// The sequence belongs to another center, most often an earlier one of the same name. Start with `.oldest` or
        /// `.now` (``SharedNotificationCenter/Start``).
        public static let otherIncarnation = Code("otherIncarnation")
        /// All participant entries of the center are taken.
        public static let tooManyParticipants = Code("tooManyParticipants")
        /// All observer entries of the center are taken.
        public static let tooManyObservers = Code("tooManyObservers")
        /// The value could not be encoded; the message contains the encoder's error. Nothing was posted.
        public static let encodingFailed = Code("encodingFailed")
        /// The value exists, but does not decode as the requested type.
        public static let decodingFailed = Code("decodingFailed")
        /// This object belongs to the parent process; a forked child must open the center itself for this operation.
        public static let forked = Code("forked")
        /// No process serves requests of that name. No server has received the request.
        public static let noServer = Code("noServer")
        /// No reply came in time. The server may have done the work: its task was cancelled.
        public static let timedOut = Code("timedOut")
        /// The server ended, or died, without a reply. It may have done the work.
        public static let serverEnded = Code("serverEnded")
        /// The server answered that it has no reply; the message contains its reason.
        public static let serverFailed = Code("serverFailed")
        static let untraced = Code("untraced")
        /// Any other error of the operating system, as an `errno`; handled as ``SharedNotificationError`` shows.
        public static func system(_ errno: Int32) -> Code { Code("system", errno: errno) }
    }

    /// The kind of failure.
    public let code: Code
    /// One line: the operation and its object, the reason of the failure, and what to do.
    public let message: String

    /// How many messages of `post(contentsOf:options:)` were posted before it failed: the first ones. 0 if another
    /// function failed.
    public let postedCount: Int

    /// The same text as ``message``.
    public var description: String { message }

    /// The encoder's or decoder's own error, with ``Code-swift.struct/encodingFailed`` and
    /// ``Code-swift.struct/decodingFailed``. Two errors are equal if their code and message are.
    public var underlyingError: (any Error)? { cause.error }
    private let cause: Cause

    /// Creates an error, as the library throws it. For replacements of the library in tests.
    public init(_ code: Code, message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.message = message
        postedCount = 0
        cause = Cause(error: underlyingError)
    }

    /// A post must be given its trace context first (`PostingCore.traced`). Never leaves the library.
    static var untraced: SharedNotificationError { SharedNotificationError(.untraced, message: "no trace context") }

    /// The error of a post of a batch, of which some messages were posted.
    init(_ error: SharedNotificationError, _ posted: Int, of count: Int) {
        code = error.code
        message = "\(error.message); \(posted) of \(count) messages were posted"
        postedCount = posted
        cause = error.cause
    }

    /// Equal to any other, so that it does not count in the comparison of errors.
    private struct Cause: Hashable, Sendable {
        let error: (any Error)?

        static func == (one: Cause, other: Cause) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }
}
