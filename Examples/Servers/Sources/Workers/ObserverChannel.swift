import Glibc
import NIOCore
import NIOPosix
import Tidings

extension SharedNotificationCenter {
    /// Observes names on an event loop: `receive` is called there for each delivery, in order.
    ///
    /// - Returns: a channel. Observation ends when it is closed, and it closes when the center ends. The future is
    ///   complete after the retained values were received.
    func observe(
        _ names: Names, on loop: any EventLoop, _ receive: @escaping @Sendable (RawDelivery) -> Void
    ) throws -> EventLoopFuture<any Channel> {
        let observer = try pollableObserver(forNames: names)
        // NIO reads from the descriptor of a channel, and closes it. So it has its own copy.
        let copy = dup(observer.fileDescriptor)
        guard copy >= 0 else { throw IOError(errnoCode: errno, reason: "dup") }
        return NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ObserverHandler(observer, receive))
                }
            }
            .takingOwnershipOfDescriptor(input: copy)
            .flatMapErrorThrowing { error in
                close(copy)
                throw error
            }
    }
}

private final class ObserverHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let observer: SharedNotificationCenter.PollableObserver
    private let receive: (SharedNotificationCenter.RawDelivery) -> Void

    init(
        _ observer: SharedNotificationCenter.PollableObserver,
        _ receive: @escaping (SharedNotificationCenter.RawDelivery) -> Void
    ) {
        (self.observer, self.receive) = (observer, receive)
    }

    func channelActive(context: ChannelHandlerContext) { take(context) }
    /// The bytes say that there may be deliveries, and nothing else.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    func channelReadComplete(context: ChannelHandlerContext) { take(context) }

    /// Takes all deliveries. The descriptor is readable again after the next post.
    private func take(_ context: ChannelHandlerContext) {
        do {
            while let delivery = try observer.next() { receive(delivery) }
        } catch {
            receive(.centerEnded(error))
            context.close(promise: nil)
        }
    }
}
