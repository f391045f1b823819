// The hand-shake over an extension's standard input, through its C functions. None of those for the host waits.
internal import CTidingsExtensions
internal import Glibc
internal import Tidings

enum HandShake {
    static let version = TIDINGS_HANDSHAKE_VERSION
    /// Bytes of all grants: two for each, and its name.
    static let most = Int(TIDINGS_HANDSHAKE_BYTES_MAX) - 24

    /// What an extension answered.
    enum Answer {
        case ready
        case otherVersion(UInt32)
        case failed(Int32)
        case unknown
    }

    // MARK: Host

    static func sockets(for name: String) throws(ExtensionError) -> (near: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        let result = tidings_handshake_sockets(&ends)
        guard result == 0 else {
            throw ExtensionError(errno: -result, message: "can't make the socket of extension \"\(name)\"")
        }
        return (ends[0], ends[1])
    }

    static func send(
        _ grants: [Grant], hasBroadcast: Bool, to name: String, over socket: Int32
    ) throws(ExtensionError) {
        let names = CStrings(grants.map(\.name.rawValue))
        let result = withExtendedLifetime(names) {
            let raw = zip(grants, names.texts).map { grant, text in
                tidings_grant(
                    kind: grant.kind.rawValue, name_length: UInt8(grant.name.rawValue.utf8.count), name: text)
            }
            return tidings_handshake_hello_send(socket, raw, raw.count, hasBroadcast)
        }
        guard result == 0 else {
            throw ExtensionError(errno: -result, message: "can't send its grants to extension \"\(name)\"")
        }
    }

    /// The answer, if there is one.
    static func answer(from socket: Int32) -> Answer? {
        var answer = tidings_answer()
        switch -tidings_handshake_answer_receive(socket, 0, &answer) {
        case 0 where answer.version != version: return .otherVersion(answer.version)
        case 0: return answer.status == 0 ? .ready : .failed(Int32(bitPattern: answer.status))
        case EBADMSG: return .unknown
        default: return nil
        }
    }

    // MARK: Extension

    static func takeInput() throws(ExtensionError) -> Int32 {
        let socket = tidings_handshake_input()
        guard socket >= 0 else {
            throw ExtensionError(
                .noHost,
                message: """
                    can't find a host: standard input is not its socket (\(String(cString: strerror(-socket)))); \
                    have a host launch this program
                    """)
        }
        return socket
    }

    static func receive(over socket: Int32) throws(ExtensionError) -> (grants: [Grant], hasBroadcast: Bool) {
        var hello = tidings_hello()
        let result = tidings_handshake_hello_receive(socket, &hello)
        defer { free(UnsafeMutableRawPointer(mutating: hello.grants)) }
        guard result == 0 else {
            if result == -EPROTO {
                _ = tidings_handshake_answer_send(socket, UInt32(EPROTO))
                throw ExtensionError(
                    .otherVersion,
                    message: """
                        can't connect to the host: it has version \(hello.version) of the hand-shake, and this \
                        extension version \(version); build both with one version of the library
                        """)
            }
            throw ExtensionError(
                .noHost,
                message: """
                    can't receive from the host over standard input (\(String(cString: strerror(-result)))); have a \
                    host launch this program
                    """)
        }
        let grants = UnsafeBufferPointer(start: hello.grants, count: hello.grant_count).compactMap { raw -> Grant? in
            let name = UnsafeRawBufferPointer(start: raw.name, count: Int(raw.name_length))
            // A kind that this version does not know allows nothing that it can do.
            return Grant.Kind(rawValue: raw.kind).map { Grant($0, named: .init(String(decoding: name, as: UTF8.self))) }
        }
        return (grants, hello.has_broadcast)
    }

    /// - Parameter status: 0, or why the extension will never be ready.
    static func sendAnswer(_ status: Int32 = 0, over socket: Int32) throws(ExtensionError) {
        let result = tidings_handshake_answer_send(socket, UInt32(bitPattern: status))
        guard result == 0 else {
            throw ExtensionError(
                .stopped, message: "can't tell the host that the extension is ready: the host has ended")
        }
    }
}
