// TLS without a socket: the handler of swift-nio-ssl on a channel that keeps the bytes. NIO's own channels belong to
// one thread, and each message of another thread wakes it. Here, the thread that has the transport's lock reads and
// writes.

#if Relay
    internal import Dispatch
    internal import NIOCore
    internal import NIOSSL
    internal import NIOTLS

    /// One connection's TLS. Used with the lock of its transport.
    final class TLSEngine: @unchecked Sendable {
        // Sendable: the transport's lock guards everything.
        private let channel: EngineChannel
        private let inside = EngineEnd()

        /// - Parameters:
        ///   - handler: of swift-nio-ssl.
        ///   - peer: the address that the certificate may be for.
        init(_ handler: any ChannelHandler, _ peer: SocketAddress?) throws {
            channel = EngineChannel(peer)
            try channel.pipeline.syncOperations.addHandlers(handler, inside)
            channel.isActive = true
            channel.pipeline.syncOperations.fireChannelActive()
            channel.loop.run()
        }

        deinit { channel.end() }

        /// What is to be sent to the peer.
        var output: ByteBuffer {
            _read { yield channel.output }
            _modify { yield &channel.output }
        }
        /// The peer has the right certificate.
        var isProven: Bool { inside.isProven }
        /// The peer has ended the connection, as TLS has it.
        var isEnded: Bool { !channel.isActive }
        var error: (any Error)? { inside.error }

        /// Bytes of the peer. What they contain is added to `plain`.
        func read(_ bytes: ByteBuffer, to plain: inout ByteBuffer) {
            swap(&plain, &inside.plain)
            channel.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
            channel.pipeline.syncOperations.fireChannelReadComplete()
            channel.loop.run()
            swap(&plain, &inside.plain)
        }

        /// Adds these bytes to `output`.
        func write(_ plain: ByteBuffer) {
            channel.pipeline.syncOperations.writeAndFlush(NIOAny(plain), promise: nil)
            channel.loop.run()
        }

        /// Tells the peer the end, in `output`.
        func close() {
            channel.pipeline.syncOperations.close(mode: .all, promise: nil)
            channel.loop.run()
        }
    }

    /// Takes what the handler of TLS has found.
    private final class EngineEnd: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var plain = ByteBuffer()
        var isProven = false
        var error: (any Error)?

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted = event { isProven = true }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            if plain.readableBytes == 0 { swap(&plain, &bytes) } else { plain.writeBuffer(&bytes) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { self.error = self.error ?? error }
    }

    /// A channel whose bytes go to `output`.
    private final class EngineChannel: Channel, ChannelCore, @unchecked Sendable {
        // Sendable: the transport's lock guards everything.
        let loop = EngineLoop()
        let allocator = ByteBufferAllocator()
        private let closing: EventLoopPromise<Void>
        private var made: ChannelPipeline?
        var output = ByteBuffer()
        var isActive = false

        let remoteAddress: SocketAddress?

        init(_ remoteAddress: SocketAddress?) {
            self.remoteAddress = remoteAddress
            closing = loop.makePromise()
            made = ChannelPipeline(channel: self)
        }

        /// Frees the pipeline, which has a reference to this channel.
        func end() {
            isActive = false
            if let made {
                made.syncOperations.fireChannelInactive()
                loop.run()
                made.syncOperations.fireChannelUnregistered()
                removeHandlers(pipeline: made)
            }
            loop.end()
            closing.succeed(())
            made = nil
        }

        var eventLoop: any EventLoop { loop }
        var pipeline: ChannelPipeline { made! }
        var closeFuture: EventLoopFuture<Void> { closing.futureResult }
        var isWritable: Bool { true }
        var parent: (any Channel)? { nil }
        var localAddress: SocketAddress? { nil }
        var _channelCore: any ChannelCore { self }

        func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
            loop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
            loop.makeFailedFuture(ChannelError.operationUnsupported)
        }

        func localAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }
        func remoteAddress0() throws -> SocketAddress {
            guard let remoteAddress else { throw ChannelError.operationUnsupported }
            return remoteAddress
        }
        func register0(promise: EventLoopPromise<Void>?) { promise?.succeed(()) }
        func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed(()) }
        func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) { promise?.succeed(()) }
        func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) { promise?.succeed(()) }
        func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
            var bytes = unwrapData(data, as: ByteBuffer.self)
            if output.readableBytes == 0 { swap(&output, &bytes) } else { output.writeBuffer(&bytes) }
            promise?.succeed(())
        }
        func flush0() {}
        func read0() {}
        func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            isActive = false
            promise?.succeed(())
        }
        func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) { promise?.succeed(()) }
        func channelRead0(_ data: NIOAny) {}
        func errorCaught0(error: any Error) {}
    }

    /// The thread that has the transport's lock is in it. Its times never come: the transport has its own.
    private final class EngineLoop: EventLoop, @unchecked Sendable {
        // Sendable: the transport's lock guards everything.
        private var tasks: [() -> Void] = []
        private var cancellations: [() -> Void] = []

        func run() {
            while !tasks.isEmpty { tasks.removeFirst()() }
        }

        func end() {
            run()
            for cancel in cancellations { cancel() }
            cancellations = []
        }

        var inEventLoop: Bool { true }
        func execute(_ task: @escaping @Sendable () -> Void) { tasks.append(task) }

        func submit<T>(_ task: @escaping @Sendable () throws -> T) -> EventLoopFuture<T> {
            let promise = makePromise(of: T.self)
            let run: () throws -> T = task
            tasks.append { promise.assumeIsolated().completeWith(Result { try run() }) }
            return promise.futureResult
        }

        func scheduleTask<T>(
            deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T
        ) -> Scheduled<T> {
            let promise = makePromise(of: T.self)
            cancellations.append { promise.fail(ChannelError.ioOnClosedChannel) }
            return Scheduled(promise: promise) {}
        }

        func scheduleTask<T>(in amount: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
            scheduleTask(deadline: .now() + amount, task)
        }

        func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
            callback(nil)
        }
    }
#endif
