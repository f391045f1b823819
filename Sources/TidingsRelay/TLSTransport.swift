// A TLS connection of two relays as a transport. One side listens; the other one connects, and connects again.
//
// Each side begins with a greeting, which it sends once it has accepted the certificate of the other one: only then is
// the transport connected. Messages follow: a length of 4 bytes, most significant first, and as many bytes.

#if Relay
    internal import Glibc
    internal import NIOConcurrencyHelpers
    internal import NIOCore
    internal import NIOPosix
    internal import NIOSSL
    internal import NIOTLS

    #if MUTANTS
        import TidingsCoding
    #endif

    package final class TLSTransport: LinkTransport, @unchecked Sendable {
        // Sendable: `sending` is locked; the variables below are used on the thread of `loop` alone.

        /// Bytes of a message. A greater length from the peer ends the connection, before memory is taken for it.
        static let largest = 1 << 20
        /// Bytes that wait for the loop, and that wait for the kernel. Beyond, `send` answers `.busy`.
        private static let bufferedMaximum = 4 << 20
        /// Connections that have not greeted, and those of one address: each has 5 s.
        private static let ungreetedMaximum = 64
        private static let ungreetedOfAddressMaximum = 4
        /// Between two lines about refused connections: every host that reaches the port can cause one.
        private static let refusalInterval = TimeAmount.seconds(10)
        /// A connection that has sent something this recently is alive, and no new one replaces it. A peer sends a beat
        /// each second.
        private static let alive = TimeAmount.seconds(3)

        private struct Sending {
            var bytes = ByteBuffer()
            /// The loop will look at `bytes`.
            var isScheduled = false
            var isConnected = false
            var isWritable = true
        }
        private let sending = NIOLockedValueBox(Sending())

        private let options: TLSOptions
        private let context: NIOSSLContext
        private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        private let loop: any EventLoop
        fileprivate let onEvent: @Sendable (LinkEvent) -> Void
        private let isClosed = NIOLockedValueBox(false)

        private var listener: (any Channel)?
        private var channels: [ObjectIdentifier: any Channel] = [:]
        private var refusalToldAt: NIODeadline?
        private var current: TLSConnection?
        private var isEnding = false
        /// Attempts since the last connection.
        private var attempts = 0
        /// The last reason that was told, while there is no connection.
        private var told: String?

        /// The port that the listening side has.
        package private(set) var port = 0

        /// - Parameter onEvent: called on a thread of this object, one call at a time. While it does not return,
        ///   nothing is received, and the peer waits.
        /// - Throws: a file can't be used, or the side that listens can't. A peer that isn't there is no error: this
        ///   object tries until it is closed, and tells each new reason as `.disconnected`. It stays until then.
        package init(_ options: TLSOptions, onEvent: @escaping @Sendable (LinkEvent) -> Void) throws(TransportError) {
            self.options = options
            self.onEvent = onEvent
            do {
                context = try options.context()
            } catch {
                // The group has a thread by now.
                try? group.syncShutdownGracefully()
                throw error
            }
            loop = group.next()
            guard options.isListening else {
                loop.execute { self.connect() }
                return
            }
            do {
                let listener = try ServerBootstrap(group: group)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .childChannelInitializer { channel in
                        self.prepare(channel) { NIOSSLServerHandler(context: self.context) }
                    }
                    .bind(host: options.host, port: options.port).wait()
                port = listener.localAddress?.port ?? options.port
                loop.execute { self.listener = listener }
            } catch {
                try? group.syncShutdownGracefully()
                throw TransportError(
                    errno: (error as? IOError)?.errnoCode ?? EADDRNOTAVAIL,
                    message: "can't listen at \(options.url): \(TLSReason.text(of: error))")
            }
        }

        package var maximum: Int { sending.withLockedValue { $0.isConnected ? Self.largest : 0 } }

        package func send(_ bytes: [UInt8]) -> LinkSending {
            precondition(bytes.count <= Self.largest && !bytes.isEmpty, "larger than `maximum`")
            var mustSchedule = false
            let result = sending.withLockedValue { sending -> LinkSending in
                guard sending.isConnected else { return .notConnected }
                guard sending.isWritable, sending.bytes.readableBytes < Self.bufferedMaximum else { return .busy }
                sending.bytes.writeInteger(UInt32(bytes.count))
                sending.bytes.writeBytes(bytes)
                mustSchedule = !sending.isScheduled
                sending.isScheduled = true
                return .sent
            }
            // What is sent until the loop looks goes out with this message, in one write.
            if mustSchedule { loop.execute { self.flush() } }
            return result
        }

        package func close() {
            let isFirst = isClosed.withLockedValue { isClosed in
                defer { isClosed = true }
                return !isClosed
            }
            guard isFirst else { return }
            try? loop.submit {
                self.isEnding = true
                self.listener?.close(promise: nil)
                for channel in self.channels.values { channel.close(promise: nil) }
            }.wait()
            try? group.syncShutdownGracefully()
        }

        // MARK: On the thread of the loop

        private func flush() {
            let bytes = sending.withLockedValue { sending in
                sending.isScheduled = false
                defer { sending.bytes = ByteBuffer() }
                return sending.bytes
            }
            guard let channel = current?.channel, bytes.readableBytes > 0 else { return }
            channel.writeAndFlush(bytes, promise: nil)
        }

        private func connect() {
            if isEnding { return }
            attempts += 1
            // Short attempts find a network that works again soon; every fourth one is long, for a slow network.
            let timeout: TimeAmount = attempts % 4 == 0 ? .seconds(5) : .milliseconds(700)
            ClientBootstrap(group: group)
                .connectTimeout(timeout)
                .channelInitializer { channel in
                    self.prepare(channel) {
                        let isName = (try? SocketAddress(ipAddress: self.options.host, port: 0)) == nil
                        return try NIOSSLClientHandler(
                            context: self.context, serverHostname: isName ? self.options.host : nil)
                    }
                }
                .connect(host: options.host, port: options.port)
                .whenFailure { self.failed(TLSReason.text(of: $0)) }
        }

        private func prepare(
            _ channel: any Channel, _ handler: @escaping () throws -> any ChannelHandler
        ) -> EventLoopFuture<Void> {
            let others = channels.values.filter { $0 !== current?.channel }
            let address = channel.remoteAddress?.ipAddress
            let ofAddress = others.count { $0.remoteAddress?.ipAddress == address }
            let isFull = others.count >= Self.ungreetedMaximum || ofAddress >= Self.ungreetedOfAddressMaximum
            if isEnding || options.isListening && isFull {
                return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
            }
            return channel.eventLoop.makeCompletedFuture {
                let connection = TLSConnection(transport: self, channel: channel)
                try channel.pipeline.syncOperations.addHandlers(handler(), connection)
                // TCP_USER_TIMEOUT: data that is not acknowledged for 3 s, by a peer that is gone or by a cut, ends the
                // connection: a new one is made as soon as the network works. TCP_RTO_MAX_MS, which an older kernel
                // lacks: until then the kernel sends again each second.
                for (name, value) in [(TCP_NODELAY, 1), (18, 3000), (44, 1000)] {
                    try? channel.syncOptions?.setOption(
                        .socket(SocketOptionLevel(IPPROTO_TCP), SocketOptionName(name)), value: SocketOptionValue(value)
                    )
                }
                try? channel.syncOptions?.setOption(
                    .writeBufferWaterMark, value: .init(low: Self.bufferedMaximum / 4, high: Self.bufferedMaximum))
                self.channels[ObjectIdentifier(channel)] = channel
                channel.closeFuture.whenComplete { _ in self.channels[ObjectIdentifier(channel)] = nil }
            }
        }

        fileprivate func failed(_ why: String) {
            if isEnding { return }
            tell("can't connect to \(options.url): \(why)")
            reconnect()
        }

        private func reconnect() {
            if isEnding || options.isListening { return }
            let delay = TimeAmount.milliseconds(min(400, 25 << min(attempts, 8)))
            loop.scheduleTask(in: delay) { self.connect() }
        }

        /// Each reason once, while there is no connection.
        private func tell(_ line: String) {
            if current != nil || told == line { return }
            told = line
            onEvent(.disconnected(line))
        }

        /// True if this side goes on with the connection, whose peer has the right certificate.
        fileprivate func accepts(_ connection: TLSConnection) -> Bool {
            #if MUTANT_TRANSPORT_REPLACES_A_LIVE_PEER  // Found by: transports tls third
                if isMutant("TRANSPORT_REPLACES_A_LIVE_PEER") { return true }
            #endif
            guard let current else { return true }
            return NIODeadline.now() - current.heardAt > Self.alive
        }

        fileprivate func greeted(_ connection: TLSConnection) {
            if let old = current {
                end(old, "the peer has connected again")
                old.channel.close(promise: nil)
            }
            current = connection
            attempts = 0
            told = nil
            refusalToldAt = nil
            sending.withLockedValue {
                $0.bytes = ByteBuffer()
                $0.isConnected = true
                $0.isWritable = true
            }
            onEvent(.connected)
        }

        fileprivate func writability(_ connection: TLSConnection) {
            guard connection === current else { return }
            sending.withLockedValue { $0.isWritable = connection.channel.isWritable }
        }

        fileprivate func ended(_ connection: TLSConnection) {
            let why = connection.why ?? "the peer ended the connection"
            if connection === current {
                end(connection, why)
                reconnect()
            } else if options.isListening {
                if let refusalToldAt, NIODeadline.now() - refusalToldAt < Self.refusalInterval { return }
                refusalToldAt = .now()
                tell("refused a connection to \(options.url) from \(connection.address): \(why)")
            } else {
                failed(why)
            }
        }

        private func end(_ connection: TLSConnection, _ why: String) {
            guard connection === current else { return }
            current = nil
            sending.withLockedValue {
                $0.isConnected = false
                $0.bytes = ByteBuffer()
            }
            tell("lost the connection of \(options.url): \(why)")
        }
    }

    /// One connection, from its first byte.
    private final class TLSConnection: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private static let greeting = Array("tidings link 1\n".utf8)
        private static let greetingTimeout = TimeAmount.seconds(5)

        // The transport waits for the end of its loop, and so for that of each connection.
        private unowned let transport: TLSTransport
        let channel: any Channel
        let address: String
        private(set) var heardAt = NIODeadline.now()
        private(set) var why: String?
        private var isGreeted = false
        private var isOver = false
        /// The bytes of an unfinished message: at most `TLSTransport.largest`, and what one read brought.
        private var waiting = ByteBuffer()
        private var timeout: Scheduled<Void>?

        init(transport: TLSTransport, channel: any Channel) {
            self.transport = transport
            self.channel = channel
            address = channel.remoteAddress?.ipAddress ?? "an unknown address"
        }

        func channelActive(context: ChannelHandlerContext) {
            timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.greetingTimeout) {
                self.fail("it did not greet as a relay")
            }
            context.fireChannelActive()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted = event {
                #if MUTANT_TRANSPORT_CONNECTED_UNPROVEN  // Found by: transports tls certificates
                    if isMutant("TRANSPORT_CONNECTED_UNPROVEN") { transport.greeted(self) }
                #endif
                if transport.accepts(self) {
                    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Self.greeting)), promise: nil)
                } else {
                    fail("this link has a peer already")
                }
            }
            context.fireUserInboundEventTriggered(event)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isOver else { return }
            heardAt = .now()
            var bytes = unwrapInboundIn(data)
            if waiting.readableBytes == 0 {
                read(&bytes)
                waiting = bytes
            } else {
                waiting.writeBuffer(&bytes)
                read(&waiting)
            }
            if waiting.readableBytes == 0 { waiting = ByteBuffer() }
        }

        private func read(_ bytes: inout ByteBuffer) {
            if !isGreeted {
                guard bytes.readableBytesView.starts(with: Self.greeting.prefix(bytes.readableBytes)) else {
                    return fail("it did not greet as a relay")
                }
                guard bytes.readSlice(length: Self.greeting.count) != nil else { return }
                isGreeted = true
                timeout?.cancel()
                transport.greeted(self)
            }
            while !isOver, let length = bytes.getInteger(at: bytes.readerIndex, as: UInt32.self) {
                let isWithin = length > 0 && length <= TLSTransport.largest
                #if MUTANT_TRANSPORT_TAKES_ANY_LENGTH  // Found by: transports tls hostile
                    if isMutant("TRANSPORT_TAKES_ANY_LENGTH") { return }
                #endif
                guard isWithin else {
                    return fail(
                        "it sent a message of \(length) bytes, which is not between 1 and \(TLSTransport.largest)")
                }
                guard bytes.readableBytes >= 4 + Int(length) else { return }
                bytes.moveReaderIndex(forwardBy: 4)
                transport.onEvent(.received(bytes.readBytes(length: Int(length))!))
            }
        }

        private func fail(_ line: String) {
            guard !isOver else { return }
            isOver = true
            why = why ?? line
            channel.close(promise: nil)
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            transport.writability(self)
            context.fireChannelWritabilityChanged()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(TLSReason.text(of: error)) }

        func channelInactive(context: ChannelHandlerContext) {
            isOver = true
            timeout?.cancel()
            transport.ended(self)
            context.fireChannelInactive()
        }
    }
#endif
