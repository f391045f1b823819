// The system calls of the transports. No socket waits.

#if Relay
    internal import Glibc
    internal import NIOCore

    enum LinkSocket {
        /// Milliseconds between the beginnings of two attempts to connect.
        static let attemptInterval: Int64 = 300
        /// Milliseconds of `isCut`, beside four round trips and their variation; and how often a connection is asked.
        private static let cutAfter = 500
        static let cutInterval: Int64 = 200

        /// A sockaddr.
        typealias Address = [UInt8]

        /// Ends a `poll` of another thread.
        final class WakeUp: Sendable {
            let descriptor: Int32
            private let writing: Int32

            /// - Throws: this process has no descriptor left.
            init() throws(TransportError) {
                var ends: [Int32] = [-1, -1]
                guard pipe(&ends) == 0 else {
                    let code = errno
                    throw TransportError(
                        errno: code, message: "can't open the link: no pipe: \(String(cString: strerror(code)))")
                }
                (descriptor, writing) = (ends[0], ends[1])
                for end in ends { setUp(end) }
            }

            deinit {
                Glibc.close(descriptor)
                Glibc.close(writing)
            }

            /// A full pipe wakes, too.
            func wake() { _ = withUnsafeBytes(of: UInt8(0)) { write(writing, $0.baseAddress, 1) } }

            func clear() {
                withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { bytes in
                    while read(descriptor, bytes.baseAddress, bytes.count) == bytes.count {}
                }
            }
        }

        /// What the name of the other side, or the own address, stands for. Empty: nothing, or nothing now.
        static func addresses(_ options: TLSOptions) -> [Address] {
            addresses(options.host, options.port, isListening: options.isListening)
        }

        private static func addresses(_ host: String, _ port: Int, isListening: Bool) -> [Address] {
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            hints.ai_flags = AI_NUMERICSERV | (isListening ? AI_PASSIVE : 0)
            var found: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(host, String(port), &hints, &found) == 0 else { return [] }
            defer { freeaddrinfo(found) }
            return sequence(first: found) { $0?.pointee.ai_next }.prefix { $0 != nil }.map {
                Address(UnsafeRawBufferPointer(start: $0!.pointee.ai_addr, count: Int($0!.pointee.ai_addrlen)))
            }
        }

        /// The socket and its port.
        static func listen(_ options: TLSOptions) throws(TransportError) -> (socket: Int32, port: Int) {
            var code = EADDRNOTAVAIL
            for address in addresses(options) {
                let socket = open(address)
                if socket < 0 {
                    code = -socket
                    continue
                }
                var one: Int32 = 1
                setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, 4)
                if with(address, { bind(socket, $0, $1) }) == 0, Glibc.listen(socket, 256) == 0 {
                    let port = withAddress { getsockname(socket, $0, $1) }.flatMap { $0.port }
                    return (socket, port ?? options.port)
                }
                code = errno
                Glibc.close(socket)
            }
            throw TransportError(
                errno: code, message: "can't listen at \(options.url): \(String(cString: strerror(code)))")
        }

        /// A socket that the kernel connects, or a negative errno.
        static func connect(_ address: Address) -> Int32 {
            let socket = open(address)
            guard socket >= 0 else { return socket }
            guard with(address, { Glibc.connect(socket, $0, $1) }) != 0, errno != EINPROGRESS else { return socket }
            let code = errno
            Glibc.close(socket)
            return -code
        }

        /// Waits until the server of a URL takes a connection or refuses it, at most 2 s. The kernel sends a lost first
        /// packet again after a second. So another attempt begins every `attemptInterval`.
        static func awaitServer(of url: String, isClosing: () -> Bool) {
            guard let server = server(of: url) else { return }
            let addresses = addresses(server.host, server.port, isListening: false)
            if addresses.isEmpty { return }
            var sockets: [Int32] = []
            defer { for socket in sockets { Glibc.close(socket) } }
            for attempt in 0..<7 where !isClosing() {
                let socket = connect(addresses[attempt % addresses.count])
                // An address may have no route, and the next one may.
                if socket >= 0 { sockets.append(socket) }
                if sockets.isEmpty { continue }
                var polled = sockets.map { pollfd(fd: $0, events: Int16(POLLOUT), revents: 0) }
                if poll(&polled, nfds_t(polled.count), Int32(attemptInterval)) != 0 { return }
            }
        }

        /// Of `nats://user:password@host:4222`; an IPv6 address is in brackets.
        private static func server(of url: String) -> (host: String, port: Int)? {
            let rest = url.split(separator: "/").last?.split(separator: "@").last ?? ""
            if rest.isEmpty { return nil }
            let end = rest.first == "[" ? rest.firstIndex(of: "]") : rest.firstIndex(of: ":")
            let host = rest[..<(end ?? rest.endIndex)].drop { $0 == "[" }
            return (String(host), rest.lastIndex(of: ":").flatMap { Int(rest[rest.index(after: $0)...]) } ?? 4222)
        }

        /// A socket, or a negative errno; -EAGAIN: no connection waits.
        static func accept(_ listener: Int32) -> Int32 {
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else { return -errno }
            setUp(socket)
            setOptions(socket)
            return socket
        }

        /// The other end. `nil`: there is none any more.
        static func peer(of socket: Int32) -> SocketAddress? { withAddress { getpeername(socket, $0, $1) } }

        /// Of a connection that the kernel made; 0: it works.
        static func error(_ socket: Int32) -> Int32 {
            var code: Int32 = 0
            var size = socklen_t(4)
            return getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
        }

        /// True: nothing of what was sent has been acknowledged for a while. The other side's kernel acknowledges, also
        /// if its process is stopped. So the network is cut, and a kernel may notice late that it works again.
        /// - Parameter since: when the first of these looks was; all of them saw something unacknowledged.
        static func isCut(_ socket: Int32, since: inout NIODeadline?) -> Bool {
            var info = tcp_info()
            var size = socklen_t(MemoryLayout<tcp_info>.size)
            guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0, info.tcpi_unacked > 0 else {
                since = nil
                return false
            }
            let first = since ?? .now()
            let limit = Int64(cutAfter) + 4 * (Int64(info.tcpi_rtt) + Int64(info.tcpi_rttvar)) / 1000
            since = first
            return NIODeadline.now() - first > .milliseconds(limit) && info.tcpi_last_ack_recv > limit
        }

        private static func open(_ address: Address) -> Int32 {
            let family = with(address) { address, _ in Int32(address.pointee.sa_family) }
            let socket = socket(family, Int32(SOCK_STREAM.rawValue), 0)
            guard socket >= 0 else { return -errno }
            setUp(socket)
            setOptions(socket)
            return socket
        }

        private static func setUp(_ descriptor: Int32) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }

        private static func setOptions(_ socket: Int32) {
            // TCP_USER_TIMEOUT: data that is not acknowledged for 3 s, by a peer that is gone or by a cut, ends the
            // connection: a new one is made as soon as the network works. Until then the kernel sends again after the
            // same time and not after longer and longer ones (TCP_THIN_LINEAR_TIMEOUTS, for a few packets), or at least
            // each second (TCP_RTO_MAX_MS, which an older kernel lacks).
            for (name, value) in [(TCP_NODELAY, Int32(1)), (18, 3000), (16, 1), (44, 1000)] {
                var value = value
                setsockopt(socket, Int32(IPPROTO_TCP), Int32(name), &value, 4)
            }
        }

        private static func with<Result>(
            _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
        ) -> Result {
            address.withUnsafeBytes {
                body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
            }
        }

        /// `nil`: the call has failed.
        private static func withAddress(
            _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
        ) -> SocketAddress? {
            var storage = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            return withUnsafeMutablePointer(to: &storage) { storage in
                let address = UnsafeMutableRawPointer(storage).assumingMemoryBound(to: sockaddr.self)
                guard body(address, &size) >= 0 else { return nil }
                switch Int32(address.pointee.sa_family) {
                case AF_INET:
                    return SocketAddress(UnsafeMutableRawPointer(storage).load(as: sockaddr_in.self))
                case AF_INET6:
                    return SocketAddress(UnsafeMutableRawPointer(storage).load(as: sockaddr_in6.self))
                default: return nil
                }
            }
        }
    }
#endif
