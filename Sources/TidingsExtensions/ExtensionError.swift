public import Tidings

/// Why a launch or a call of an extension failed: the kind of failure for programs, and one line for people.
///
/// ```swift
/// let host = try ExtensionHost(broadcast: .sealed(named: "player.events"))
/// do {
///     _ = try await host.launch(.init(executable: "/usr/libexec/player/lyrics"))
/// } catch let error as ExtensionError where error.code == .notFound {
///     print("reinstall the player")
/// } catch {
///     print(error)
/// }
/// ```
public struct ExtensionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, as ``ExtensionError`` shows. Later versions add kinds, so a `switch` over them has a
    /// `default`.
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

        /// A part of the specification is out of its range.
        public static let invalidArgument = Code("invalidArgument")
        /// There is no such executable, or no such path of the sandbox.
        public static let notFound = Code("notFound")
        /// The file is not executable, or this process may not execute it or set that limit.
        public static let notPermitted = Code("notPermitted")
        /// The kernel cannot enforce the requested limit or sandbox. Nothing was started.
        public static let notSupported = Code("notSupported")
        /// The extension ended before it was ready.
        public static let endedEarly = Code("endedEarly")
        /// The extension was not ready within ``LaunchSpecification/readyTimeout``, and was killed.
        public static let notReady = Code("notReady")
        /// Host and extension were built with versions of the library that do not understand each other.
        public static let otherVersion = Code("otherVersion")
        /// The extension's process has ended although its wrapper has not, and the wrapper was killed.
        public static let left = Code("left")
        /// A center failed: the private one, most often because the extension has damaged it, or the broadcast center.
        /// ``ExtensionError/underlyingError`` is its error.
        public static let center = Code("center")
        /// No ``Grant`` of the extension allows the call, which was not carried out.
        public static let notGranted = Code("notGranted")
        /// The extension is not running at present, or not yet ready.
        public static let notRunning = Code("notRunning")
        /// The host serves that name already.
        public static let alreadyServed = Code("alreadyServed")
        /// The host has ended, or the extension was stopped.
        public static let stopped = Code("stopped")
        /// The program was not started by a host: its standard input is not a host's socket.
        public static let noHost = Code("noHost")
        /// Any other error of the operating system, as an `errno`; handled as ``ExtensionError`` shows.
        public static func system(_ errno: Int32) -> Code { Code("system", errno: errno) }
    }

    /// The kind of failure.
    public let code: Code
    /// One line: the operation and its object, the reason of the failure, and what to do.
    public let message: String
    /// The error of a center, with ``Code-swift.struct/center``.
    public let underlyingError: SharedNotificationError?

    /// The same text as ``message``.
    public var description: String { message }

    /// Creates an error, as the library throws it; ``ExtensionError`` shows one. For replacements of the library in
    /// tests.
    public init(_ code: Code, message: String, underlyingError: SharedNotificationError? = nil) {
        self.code = code
        self.message = message
        self.underlyingError = underlyingError
    }
}
