// The mapping from the error numbers of the C library, and of threads that do not start, to `SharedNotificationError`.
internal import CTidings
import Glibc

extension SharedNotificationError {
    /// Creates the error that a function of the C library returned, with the message that the library left for this
    /// thread.
    ///
    /// - Parameters:
    ///   - errno: the positive error number.
    ///   - invalid: the meaning of EINVAL for that function.
    ///   - users: the meaning of EUSERS for that function.
    ///   - stale: the meaning of ESTALE for that function.
    package init(
        errno code: Int32, invalid: Code = .invalidArgument, users: Code = .tooManyParticipants, stale: Code = .removed
    ) {
        let line = String(cString: tidings_last_error())
        self.init(
            Self.code(code, invalid: invalid, users: users, stale: stale),
            message: line.isEmpty ? String(cString: strerror(code)) : line)
    }

    private static func code(_ code: Int32, invalid: Code, users: Code, stale: Code) -> Code {
        switch code {
        case EINVAL, ERANGE: invalid
        case EUSERS: users
        case EMSGSIZE: .payloadTooLarge
        case ENOSPC: .noSpace
        case EACCES, EPERM, EROFS: .notPermitted
        case EBADMSG: .notACenter
        case EPROTO: .incompatibleVersion
        case ENOENT: .notFound
        case EEXIST: .exists
        case EAGAIN, ETIMEDOUT: .full
        case ESTALE: stale
        case ECHILD: .forked
        default: .system(code)
        }
    }
}

extension WorkerThread {
    /// Starts a thread, as ``init(_:)`` does.
    ///
    /// - Parameter purpose: continues "can't start a thread".
    init(_ purpose: String, _ body: @escaping @Sendable () -> Void) throws(SharedNotificationError) {
        do throws(NotStarted) { try self.init(body) } catch {
            let reason = String(cString: strerror(error.errno))
            throw SharedNotificationError(.system(error.errno), message: "can't start a thread \(purpose): \(reason)")
        }
    }
}
