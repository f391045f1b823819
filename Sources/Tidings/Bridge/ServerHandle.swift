internal import CTidings
import Glibc

/// A server of the C library: receives requests of one name, and replies to them.
///
/// Only the server's thread uses ``next()``, ``hold(_:)``, ``awaitSuccessor()`` and ``close()``. Replies and interrupts
/// may come from any thread.
final class ServerHandle: @unchecked Sendable {
    // Sendable: `close()` changes `server` with the lock held, and replies and interrupts use it with the lock held.
    // The other functions are the thread's, as `close()` is.
    let center: CenterHandle
    private let lock = Lock()
    private var server: OpaquePointer?

    struct Request: Sendable {
        var id: UInt64
        var payload: SharedNotificationCenter.RawPayload
        var envelope: SharedNotificationCenter.RequestEnvelope
    }

    enum Outcome {
        case request(Request)
        case cancelled(UInt64)
        /// The caller wants the next part of the reply.
        case continued(UInt64)
        case interrupted
        case failed(SharedNotificationError)
    }

    /// How a server answers a request.
    struct Reply: Sendable {
        var code: UInt16
        var payload: SharedNotificationCenter.RawPayload
        /// Not 0: there is no reply, as of `tidings_request_end`.
        var error: Int32 = 0
    }

    init(_ center: CenterHandle, name: String) throws(SharedNotificationError) {
        var opened: OpaquePointer?
        let result = withUTF8(name) { tidings_server_open(center.center, $0!.baseAddress, $0!.count, &opened) }
        guard result == 0, let opened else {
            throw SharedNotificationError(errno: -result, invalid: .invalidName, users: .tooManyObservers)
        }
        self.center = center
        server = opened
    }

    /// Waits for the next request, cancellation or continuation, without a deadline.
    func next() -> Outcome {
        var raw = tidings_request()
        while true {
            let result = tidings_server_next(server, -1, &raw)
            switch -result {
            case 0 where raw.kind == Int32(TIDINGS_REQUEST_CANCELLED): return .cancelled(raw.id)
            case 0 where raw.kind == Int32(TIDINGS_REQUEST_CONTINUED): return .continued(raw.id)
            case 0:
                let bytes = Array(UnsafeRawBufferPointer(start: raw.payload, count: raw.size))
                let poster = SharedNotificationCenter.Poster(
                    pid: raw.pid, uid: raw.uid,
                    executable: center.executable(ofParticipant: raw.participant, pid: raw.pid))
                var envelope = SharedNotificationCenter.RequestEnvelope(caller: poster, isRepeated: raw.again)
                envelope.isIdempotent = raw.idempotent
                envelope.isOwn = raw.own
                return .request(
                    Request(
                        id: raw.id, payload: .init(format: .init(rawValue: raw.format), bytes: bytes),
                        envelope: envelope))
            case EINTR: return .interrupted
            // There is no memory for that request: its caller is told that the server ended. The next may be smaller.
            case ENOMEM, EAGAIN, ETIMEDOUT: continue
            case let code: return .failed(SharedNotificationError(errno: code))
            }
        }
    }

    /// Whether the server receives no new requests, from the next ``next()`` on.
    func hold(_ isHeld: Bool) { tidings_server_hold(server, isHeld) }

    /// Answers a request. Does nothing if no caller waits for it.
    func reply(_ reply: Reply, to id: UInt64) {
        lock.withLock {
            guard let server else { return }
            guard reply.error == 0 else {
                _ = tidings_request_end(server, id, reply.error)
                return
            }
            var result = Self.send(reply, to: id, by: server)
            guard [EMSGSIZE, ENOSPC, EAGAIN].contains(-result) else { return }
            // The request still waits. A reply of 192 bytes needs no memory of the center.
            let why = -result == EMSGSIZE ? "the reply is too large: " : "the center has no room for the reply: "
            let text = (why + String(cString: tidings_last_error())).prefix(utf8: 192)
            result = Self.send(Reply(code: ReplyCode.failed, payload: .text(text)), to: id, by: server)
        }
    }

    /// Sends a part of the reply, and another one is to follow. The caller has asked for it.
    ///
    /// - Returns: false: no caller waits for it.
    func send(part payload: SharedNotificationCenter.RawPayload, to id: UInt64) throws(SharedNotificationError) -> Bool
    {
        try lock.withLock { () throws(SharedNotificationError) in
            guard let server else { return false }
            let result = Self.send(Reply(code: ReplyCode.reply, payload: payload), to: id, isPart: true, by: server)
            if -result == ECANCELED { return false }
            guard result == 0 else { throw SharedNotificationError(errno: -result, users: .full) }
            return true
        }
    }

    private static func send(_ reply: Reply, to id: UInt64, isPart: Bool = false, by server: OpaquePointer) -> Int32 {
        var options = tidings_reply_options()
        options.code = reply.code
        options.more = isPart
        options.format = reply.payload.format.rawValue
        return reply.payload.bytes.withUnsafeBytes { tidings_reply(server, id, $0.baseAddress, $0.count, &options) }
    }

    /// Makes ``next()`` or ``awaitSuccessor()`` return. From any thread.
    func interrupt() { lock.withLock { if let server { tidings_server_interrupt(server) } } }

    /// Waits, after the center has ended, until another file has its path. False: interrupted.
    func awaitSuccessor() throws(SharedNotificationError) -> Bool {
        while true {
            let result = tidings_server_await_successor(server, -1)
            switch -result {
            case 0: return true
            case EINTR: return false
            case ETIMEDOUT: continue
            case let code: throw SharedNotificationError(errno: code)
            }
        }
    }

    /// Ends the server. Its requests without a reply end, or go to other servers.
    func close() {
        lock.withLock {
            tidings_server_close(server)
            server = nil
        }
    }

    deinit { tidings_server_close(server) }
}

/// The meaning of a reply's code, for the C library and for programs in C.
enum ReplyCode {
    /// The payload is the reply.
    static let reply: UInt16 = 0
    /// The payload is the request's own failure.
    static let failure: UInt16 = 1
    /// The payload is a text: why the server has no reply.
    static let failed: UInt16 = 2
    /// The parts before were the reply. There is no payload.
    static let end: UInt16 = 3
}

extension String {
    /// The longest beginning of the text with at most that many bytes of UTF-8.
    func prefix(utf8 limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
