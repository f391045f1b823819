internal import CTidings
import Glibc

extension SharedNotificationError {
    /// The error a function of the C library returned, with the line it left for this thread.
    ///
    /// - Parameters:
    ///   - errno: positive.
    ///   - invalid: what EINVAL means there.
    ///   - users: what EUSERS means there.
    ///   - stale: what ESTALE means there.
    init(
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
