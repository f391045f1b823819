// The system calls of TLSTransport. No socket waits.

#if Relay
    internal import Glibc
    internal import NIOCore

    enum TLSSocket {
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
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            hints.ai_flags = AI_NUMERICSERV | (options.isListening ? AI_PASSIVE : 0)
            var found: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(options.host, String(options.port), &hints, &found) == 0 else { return [] }
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
            // connection: a new one is made as soon as the network works. TCP_RTO_MAX_MS, which an older kernel lacks:
            // until then the kernel sends again each second.
            for (name, value) in [(TCP_NODELAY, Int32(1)), (18, 3000), (44, 1000)] {
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
