// A TLS connection of two relays as a transport. One side listens; the other one connects, and connects again.
//
// Each side greets once it has accepted the certificate of the other one, the connecting side first: only then is the
// transport connected. Messages follow: a length of 4 bytes, most significant first, and as many bytes.

#if Relay
    internal import Glibc
    internal import NIOConcurrencyHelpers
    internal import NIOCore
    internal import NIOSSL

    package final class TLSTransport: LinkTransport, @unchecked Sendable {
        // Sendable: `lock` guards `current` and all connections; the thread alone uses the other variables.

        /// Bytes of a message. A greater length from the peer ends the connection, before memory is taken for it.
        static let largest = 1 << 20
        /// Bytes that wait for the kernel. Beyond, `send` answers `.busy`.
        private static let bufferedMaximum = 4 << 20
        /// Bytes of one read.
        private static let readSize = 64 << 10
        /// Connections that have not greeted, and those of one address: each has 5 s.
        private static let ungreetedMaximum = 64
        private static let ungreetedOfAddressMaximum = 4
        private static let greetingTimeout = TimeAmount.seconds(5)
        /// Of an attempt to connect. So ten of them can be under way.
        private static let connectTimeout = TimeAmount.seconds(3)
        /// Between two lines about refused connections: every host that reaches the port can cause one.
        private static let refusalInterval = TimeAmount.seconds(10)
        /// A connection that has sent something this recently is alive, and no new one replaces it. A peer sends a beat
        /// each second.
        private static let alive = TimeAmount.seconds(3)
        /// Each side's first bytes, and then the 16 hexadecimal digits of its number and a line feed.
        private static let greeting = Array("tidings link 1 ".utf8)
        private static let greetingSize = 32
        /// The listening side knows its peer again by it.
        private let number = UInt64.random(in: 0 ... .max)

        private let lock = NIOLock()
        private let options: TLSOptions
        private let context: NIOSSLContext
        private let onEvent: @Sendable (LinkEvent) -> Void
        private let wakeUp: LinkSocket.WakeUp
        private let listener: Int32
        /// 1 once the thread has ended.
        private let end = ConditionLock(value: 0)

        private var isClosing = false
        private var current: TLSConnection?
        private var connections: [TLSConnection] = []
        /// To be told without the lock.
        private var events: [LinkEvent] = []

        private var refusalToldAt: NIODeadline?
        /// Attempts since the last connection, and when the next one begins, or the listener is asked again; `nil`: one
        /// has been connected.
        private var attempts = 0
        private var attemptAt: NIODeadline?
        /// What the host's name stood for at the first of these attempts.
        private var known: [LinkSocket.Address] = []
        /// The last reason that was told, while there is no connection.
        private var told: String?

        /// The port that the listening side has.
        package let port: Int

        /// - Parameter onEvent: called on a thread of this object, which holds no lock, one call at a time. While it
        ///   does not return, nothing is received, and the peer waits.
        /// - Throws: a file can't be used, the side that listens can't, or there is no descriptor. A peer that isn't
        ///   there is no error: this object tries until it is closed, and tells each new reason as `.disconnected`. It
        ///   stays until then.
        package init(_ options: TLSOptions, onEvent: @escaping @Sendable (LinkEvent) -> Void) throws(TransportError) {
            self.options = options
            self.onEvent = onEvent
            context = try options.context()
            wakeUp = try LinkSocket.WakeUp()
            (listener, port) = try options.isListening ? LinkSocket.listen(options) : (-1, options.port)
            attemptAt = .now()
            startThread { [self] in run() }
        }

        package var maximum: Int { lock.withLock { current == nil ? 0 : Self.largest } }

        package func send(_ bytes: [UInt8]) -> LinkSending {
            precondition(bytes.count <= Self.largest && !bytes.isEmpty, "larger than `maximum`")
            return lock.withLock {
                guard let current else { return .notConnected }
                let waited = current.engine!.output.readableBytes
                guard waited < Self.bufferedMaximum else { return .busy }
                var message = ByteBufferAllocator().buffer(capacity: 4 + bytes.count)
                message.writeInteger(UInt32(bytes.count))
                message.writeBytes(bytes)
                current.engine!.write(message)
                // The thread waits until the kernel takes the rest.
                if !current.flush(), waited == 0 { wakeUp.wake() }
                return .sent
            }
        }

        package func close() {
            let isFirst = lock.withLock {
                defer { isClosing = true }
                return !isClosing
            }
            guard isFirst else { return }
            wakeUp.wake()
            end.lock(whenValue: 1)
            end.unlock()
        }

        // MARK: - The thread

        private func run() {
            while true {
                var polled: [pollfd] = []
                let (limit, isLast, isWaiting) = lock.withLock {
                    polled = descriptors()
                    return (timeout(), isClosing, connections.contains { $0.engine == nil })
                }
                if isLast { break }
                _ = poll(&polled, nfds_t(polled.count), limit)
                if polled[0].revents != 0 { wakeUp.clear() }
                let ready = polled
                // Names are looked up without the lock.
                let isDue = !options.isListening && attemptAt.map { $0 <= .now() } == true
                // That may take seconds: not beside attempts that wait.
                if isDue, !isWaiting || known.isEmpty { known = LinkSocket.addresses(options) }
                let addresses = isDue ? known : nil
                let events = lock.withLock { () -> [LinkEvent] in
                    if let addresses { connect(addresses) }
                    if ready.contains(where: { $0.fd == listener && $0.revents != 0 }) { accept() }
                    for connection in connections {
                        let events = ready.first { $0.fd == connection.socket }?.revents ?? 0
                        advance(connection, events)
                    }
                    connections.removeAll { $0.isOver }
                    defer { self.events = [] }
                    return self.events
                }
                for event in events { onEvent(event) }
            }
            lock.withLock {
                for connection in connections { connection.close() }
                connections = []
                current = nil
            }
            if listener >= 0 { Glibc.close(listener) }
            end.lock()
            end.unlock(withValue: 1)
        }

        private func descriptors() -> [pollfd] {
            var all = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
            if listener >= 0, attemptAt.map({ $0 <= .now() }) ?? true {
                all.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
            }
            for connection in connections {
                let writes = connection.engine.map { $0.output.readableBytes > 0 } ?? true
                all.append(
                    pollfd(
                        fd: connection.socket, events: Int16(writes ? POLLIN | POLLOUT : POLLIN), revents: 0))
            }
            return all
        }

        /// Milliseconds; -1: without end.
        private func timeout() -> Int32 {
            var next = attemptAt.flatMap { options.isListening && $0 <= .now() ? nil : $0 }
            for deadline in connections.compactMap(\.deadline) { next = min(next ?? deadline, deadline) }
            if current != nil {
                let look = NIODeadline.now() + .milliseconds(LinkSocket.cutInterval)
                next = min(next ?? look, look)
            }
            guard let next else { return -1 }
            return Int32(clamping: max(0, (next - .now()).nanoseconds / 1_000_000 + 1))
        }

        /// Connects to the next one of the addresses.
        private func connect(_ addresses: [LinkSocket.Address]) {
            attemptAt = nil
            attempts += 1
            guard !addresses.isEmpty else { return failed("its address is not known") }
            let socket = LinkSocket.connect(addresses[(attempts - 1) % addresses.count])
            guard socket >= 0 else { return failed(String(cString: strerror(-socket))) }
            connections.append(TLSConnection(socket, address: options.host, deadline: .now() + Self.connectTimeout))
            // The kernel sends a lost packet of a new connection again after a second: another attempt begins before.
            attemptAt = .now() + .milliseconds(LinkSocket.attemptInterval)
        }

        private func accept() {
            while true {
                let socket = LinkSocket.accept(listener)
                guard socket >= 0 else {
                    // For example, this process has no descriptor left. The connection waits in the kernel.
                    if ![EAGAIN, EINTR, ECONNABORTED].contains(-socket) { attemptAt = .now() + .milliseconds(100) }
                    return
                }
                let address = LinkSocket.peer(of: socket)?.ipAddress ?? "an unknown address"
                let others = connections.filter { $0 !== current }
                let ofAddress = others.count { $0.address == address }
                let isFull = others.count >= Self.ungreetedMaximum || ofAddress >= Self.ungreetedOfAddressMaximum
                let connection = TLSConnection(socket, address: address, deadline: .now() + Self.greetingTimeout)
                connections.append(connection)
                if isFull {
                    connection.close()
                } else {
                    begin(connection)
                }
            }
        }

        private func begin(_ connection: TLSConnection) {
            let peer = LinkSocket.peer(of: connection.socket)
            do {
                if options.isListening {
                    connection.engine = try TLSEngine(NIOSSLServerHandler(context: context), peer)
                } else {
                    let isName = (try? SocketAddress(ipAddress: options.host, port: 0)) == nil
                    connection.engine = try TLSEngine(
                        NIOSSLClientHandler(context: context, serverHostname: isName ? options.host : nil), peer)
                }
                _ = connection.flush()
            } catch {
                fail(connection, TLSReason.text(of: error))
            }
        }

        /// What the kernel has for a connection, and what its time has brought.
        private func advance(_ connection: TLSConnection, _ ready: Int16) {
            if ready != 0, !connection.isOver {
                if connection.engine == nil {
                    let code = LinkSocket.error(connection.socket)
                    guard code == 0 else { return fail(connection, String(cString: strerror(code))) }
                    connection.deadline = .now() + Self.greetingTimeout
                    // The first connection is enough. If it fails, another one is made.
                    attemptAt = nil
                    for other in connections where other !== connection && other.engine == nil { other.close() }
                    begin(connection)
                } else {
                    _ = connection.flush()
                    read(connection)
                }
            }
            // Also if this process was stopped, or busy with what it received.
            if ready != 0 || .now() - connection.lookedAt > .milliseconds(2 * LinkSocket.cutInterval) {
                connection.unacknowledged = nil
            }
            connection.lookedAt = .now()
            if connection === current, ready == 0,
                LinkSocket.isCut(connection.socket, since: &connection.unacknowledged)
            {
                fail(connection, "the network is cut")
            }
            if let deadline = connection.deadline, deadline <= .now(), !connection.isOver {
                fail(connection, connection.engine == nil ? "no answer" : "it did not greet as a relay")
            }
        }

        private func read(_ connection: TLSConnection) {
            guard let engine = connection.engine else { return }
            var bytes = ByteBuffer()
            var (count, code) = (0, Int32(0))
            bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.readSize) {
                count = recv(connection.socket, $0.baseAddress, $0.count, 0)
                if count < 0 { code = errno }
                return max(0, count)
            }
            if count > 0 {
                connection.heardAt = .now()
                connection.hasSpoken = true
                engine.read(bytes, to: &connection.plain)
                take(connection)
                // Of the handshake, and why it failed.
                _ = connection.flush()
            }
            if connection.isOver { return }
            if let error = engine.error { return fail(connection, TLSReason.text(of: error)) }
            if count > 0 && !engine.isEnded { return }
            if code == EAGAIN || code == EINTR { return }
            // A process has looked whether the port is open. A line would keep back the next one for a while.
            if options.isListening, !connection.hasSpoken { return connection.close() }
            fail(
                connection,
                !engine.isProven
                    ? "it ended the connection before it had proved anything"
                    : code != 0 ? String(cString: strerror(code)) : "the peer ended the connection")
        }

        /// What the peer has proved, and its messages.
        private func take(_ connection: TLSConnection) {
            let engine = connection.engine!
            if engine.isProven, !connection.isAccepted {
                #if MUTANT_TRANSPORT_CONNECTED_UNPROVEN  // Found by: transports tls certificates
                    if isMutant("TRANSPORT_CONNECTED_UNPROVEN") { greeted(connection) }
                #endif
                connection.isAccepted = true
                if !options.isListening { greet(engine) }
            }
            if !connection.isGreeted {
                let count = connection.plain.readableBytes
                guard connection.plain.readableBytesView.starts(with: Self.greeting.prefix(count)) else {
                    return fail(connection, "it did not greet as a relay")
                }
                guard let greeting = connection.plain.readBytes(length: Self.greetingSize) else { return }
                connection.peer = greeting
                if options.isListening {
                    guard accepts(connection) else { return fail(connection, "this link has a peer already") }
                    greet(engine)
                }
                greeted(connection)
            }
            while let length = connection.plain.getInteger(at: connection.plain.readerIndex, as: UInt32.self) {
                let isWithin = length > 0 && length <= Self.largest
                #if MUTANT_TRANSPORT_TAKES_ANY_LENGTH  // Found by: transports tls hostile
                    if isMutant("TRANSPORT_TAKES_ANY_LENGTH") { return }
                #endif
                guard isWithin else {
                    return fail(
                        connection,
                        "it sent a message of \(length) bytes, which is not between 1 and \(Self.largest)")
                }
                guard connection.plain.readableBytes >= 4 + Int(length) else { break }
                connection.plain.moveReaderIndex(forwardBy: 4)
                events.append(.received(connection.plain.readBytes(length: Int(length))!))
            }
            if connection.plain.readableBytes == 0 { connection.plain = ByteBuffer() }
        }

        // MARK: - Connections

        private func greet(_ engine: TLSEngine) {
            let digits = String(number, radix: 16)
            let line = String(repeating: "0", count: 16 - digits.utf8.count) + digits + "\n"
            engine.write(ByteBuffer(bytes: Self.greeting + line.utf8))
        }

        /// True if this side goes on with the connection, whose peer has the right certificate.
        private func accepts(_ connection: TLSConnection) -> Bool {
            #if MUTANT_TRANSPORT_REPLACES_A_LIVE_PEER  // Found by: transports tls third
                if isMutant("TRANSPORT_REPLACES_A_LIVE_PEER") { return true }
            #endif
            guard let current else { return true }
            #if MUTANT_TRANSPORT_FORGETS_ITS_PEER  // Found by: transports tls hostile
                if isMutant("TRANSPORT_FORGETS_ITS_PEER") { return NIODeadline.now() - current.heardAt > Self.alive }
            #endif
            if current.peer == connection.peer { return true }
            return NIODeadline.now() - current.heardAt > Self.alive
        }

        private func greeted(_ connection: TLSConnection) {
            if let old = current { fail(old, "the peer has connected again") }
            connection.isGreeted = true
            connection.deadline = nil
            current = connection
            attempts = 0
            attemptAt = nil
            told = nil
            refusalToldAt = nil
            events.append(.connected)
        }

        /// Ends a connection, and tells why.
        private func fail(_ connection: TLSConnection, _ why: String) {
            guard !connection.isOver else { return }
            connection.close()
            if connection === current {
                current = nil
                tell("lost the connection of \(options.url): \(why)")
                reconnect()
            } else if options.isListening {
                if let refusalToldAt, NIODeadline.now() - refusalToldAt < Self.refusalInterval { return }
                refusalToldAt = .now()
                tell("refused a connection to \(options.url) from \(connection.address): \(why)")
            } else {
                failed(why)
            }
        }

        private func failed(_ why: String) {
            tell("can't connect to \(options.url): \(why)")
            reconnect()
        }

        private func reconnect() {
            if options.isListening { return }
            let next = NIODeadline.now() + .milliseconds(min(LinkSocket.attemptInterval, 25 << Int64(min(attempts, 8))))
            attemptAt = min(attemptAt ?? next, next)
        }

        /// Each reason once, while there is no connection.
        private func tell(_ line: String) {
            if current != nil || told == line { return }
            told = line
            events.append(.disconnected(line))
        }
    }

    /// One connection, from its first byte. Used with the transport's lock.
    private final class TLSConnection {
        let socket: Int32
        let address: String
        /// `nil`: the kernel is connecting.
        var engine: TLSEngine?
        /// When it must be connected, or have greeted; `nil`: it has.
        var deadline: NIODeadline?
        var heardAt = NIODeadline.now()
        /// For `LinkSocket.isCut`, and when that was asked last.
        var unacknowledged: NIODeadline?
        var lookedAt = NIODeadline.now()
        var hasSpoken = false
        var isAccepted = false
        var isGreeted = false
        /// Its greeting.
        var peer: [UInt8] = []
        private(set) var isOver = false
        /// The bytes of an unfinished message: at most `TLSTransport.largest`, and what one read brought.
        var plain = ByteBuffer()

        init(_ socket: Int32, address: String, deadline: NIODeadline) {
            self.socket = socket
            self.address = address
            self.deadline = deadline
        }

        /// Writes what the kernel takes. True: that is everything. The thread that reads notices errors.
        func flush() -> Bool {
            guard let engine else { return true }
            while engine.output.readableBytes > 0 {
                let count = engine.output.readWithUnsafeReadableBytes {
                    max(0, Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)))
                }
                if count == 0 { return false }
            }
            engine.output = ByteBuffer()
            return true
        }

        func close() {
            if isOver { return }
            isOver = true
            engine?.close()
            _ = flush()
            engine = nil
            Glibc.close(socket)
        }
    }
#endif
