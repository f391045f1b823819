internal import CTidings
import Glibc

/// A caller of the C library: makes calls of one name, and takes their outcomes.
///
/// Only the caller's thread uses ``next(nanoseconds:)``, ``outcome(of:)`` and ``close()``. All other members may be
/// called from any thread, before `close()`.
final class CallerHandle: @unchecked Sendable {
    // Sendable: `close()` changes `caller` when no other thread uses this object any more.
    let center: CenterHandle
    private var caller: OpaquePointer?

    struct Outcome: Sendable {
        enum Kind: Sendable {
            case reply(Reply)
            case serverEnded
            case noServer
            case damaged
            case noMemory
        }
        var id: UInt64
        var kind: Kind
    }

    struct Reply: Sendable {
        var code: UInt16
        var payload: SharedNotificationCenter.RawPayload
        /// A part of the reply: the call is still in flight.
        var isPart: Bool
    }

    enum Next {
        case outcome(Outcome)
        case timedOut
        case interrupted
        case failed(SharedNotificationError)
    }

    init(_ center: CenterHandle, name: String) throws(SharedNotificationError) {
        var opened: OpaquePointer?
        let result = withUTF8(name) { tidings_caller_open(center.center, $0!.baseAddress, $0!.count, &opened) }
        guard result == 0, let opened else { throw SharedNotificationError(errno: -result, invalid: .invalidName) }
        self.center = center
        caller = opened
    }

    /// Sends a request. Never waits. Returns the call's number.
    func call(
        _ payload: SharedNotificationCenter.RawPayload, isIdempotent: Bool
    ) throws(SharedNotificationError) -> UInt64 {
        var options = tidings_call_options()
        options.format = payload.format.rawValue
        if isIdempotent { options.flags = UInt8(TIDINGS_CALL_IDEMPOTENT) }
        var id: UInt64 = 0
        let result = payload.bytes.withUnsafeBytes { tidings_call(caller, $0.baseAddress, $0.count, &options, &id) }
        guard result == 0 else {
            let error = SharedNotificationError(errno: -result, users: .full)
            throw -result == ECONNREFUSED ? SharedNotificationError(.noServer, message: error.message) : error
        }
        return id
    }

    /// Takes the outcome of a call that has ended. Waits so long for it, without end if that is negative.
    func next(nanoseconds: Int64) -> Next {
        var raw = tidings_outcome()
        while true {
            let result = tidings_caller_next(caller, 0, nanoseconds, &raw)
            switch -result {
            case 0: return .outcome(Self.outcome(raw))
            case ENOMEM: return .outcome(Outcome(id: raw.id, kind: .noMemory))
            case EINTR: return .interrupted
            case EAGAIN, ETIMEDOUT: return .timedOut
            case let code: return .failed(SharedNotificationError(errno: code))
            }
        }
    }

    /// The outcome of that call, if it has ended, or the part that waits.
    func outcome(of id: UInt64) -> Outcome? {
        var raw = tidings_outcome()
        while true {
            switch -tidings_caller_next(caller, id, 0, &raw) {
            case 0: return Self.outcome(raw)
            case EINTR: continue
            default: return nil
            }
        }
    }

    private static func outcome(_ raw: tidings_outcome) -> Outcome {
        let kind: Outcome.Kind
        switch -raw.error {
        case 0:
            let bytes = Array(UnsafeRawBufferPointer(start: raw.payload, count: raw.size))
            kind = .reply(
                Reply(
                    code: raw.code, payload: .init(format: .init(rawValue: raw.format), bytes: bytes),
                    isPart: raw.more))
        case ECONNREFUSED: kind = .noServer
        case EBADMSG: kind = .damaged
        default: kind = .serverEnded
        }
        return Outcome(id: raw.id, kind: kind)
    }

    /// Lets the server send the next part, after one was taken. Never waits. Does nothing if the call has ended: its
    /// outcome comes, or the thread has taken it just now.
    func goOn(_ id: UInt64) throws(SharedNotificationError) {
        let result = tidings_call_continue(caller, id)
        guard result == 0 || result == -ENOENT else { throw SharedNotificationError(errno: -result, users: .full) }
    }

    /// Cancels a call. Does nothing if it has ended.
    func cancel(_ id: UInt64) { _ = tidings_call_cancel(caller, id) }

    func interrupt() { tidings_caller_interrupt(caller) }

    /// Cancels all calls, and closes the caller.
    func close() {
        tidings_caller_close(caller)
        caller = nil
    }

    deinit { tidings_caller_close(caller) }
}
