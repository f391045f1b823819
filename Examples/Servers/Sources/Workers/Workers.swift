import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Tidings

/// What all workers are configured with: the retained value of this name. A shell changes it in all of them at once:
///
///     tidings state set com.example.web.settings '{"version":2,"greeting":"Hello"}' --center com.example.web
struct Settings: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.web.settings"
    var version = 0
    var greeting = "Welcome"
}

/// One of several processes that serve HTTP on one port, each with one event loop: Workers PORT
@main struct Workers {
    static func main() {
        guard let port = CommandLine.arguments.dropFirst().first.flatMap({ Int($0) }) else {
            note("usage: Workers PORT")
            exit(64)
        }
        do {
            let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
            let worker = try loop.submit { NIOLoopBound(Worker(on: loop), eventLoop: loop) }.wait()
            // First the retained value: no request is answered with older settings.
            try loop.flatSubmit { worker.value.follow() }.wait()
            let server = try ServerBootstrap(group: loop)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1)
                .childChannelInitializer { channel in
                    channel.pipeline.configureHTTPServerPipeline(withErrorHandling: true).flatMapThrowing {
                        try channel.pipeline.syncOperations.addHandler(Greeter(worker.value))
                    }
                }
                .bind(host: "127.0.0.1", port: port).wait()
            note("serves port \(port)")
            try server.closeFuture.wait()
        } catch {
            note("can't serve port \(port): \(error)")
            exit(1)
        }
    }

    static func note(_ line: String) { FileHandle.standardError.write(Data("worker \(getpid()): \(line)\n".utf8)) }
}

/// The settings of this process. The event loop alone reads and changes them, so each request is answered with one
/// version of them.
final class Worker {
    private(set) var settings = Settings()
    private let loop: any EventLoop

    init(on loop: any EventLoop) { self.loop = loop }

    /// Receives the settings, also those of the next center of that name. In between, the worker keeps what it has.
    func follow() -> EventLoopFuture<Void> {
        let worker = NIOLoopBound(self, eventLoop: loop)
        return loop.makeCompletedFuture {
            try SharedNotificationCenter(named: "com.example.web")
                .observe([Settings.name], on: loop) { worker.value.apply($0) }
        }.flatMap { $0 }.map { channel in
            channel.closeFuture.whenComplete { _ in worker.value.followAgain() }
        }
    }

    private func followAgain() {
        let worker = NIOLoopBound(self, eventLoop: loop)
        loop.assumeIsolated().scheduleTask(in: .seconds(1)) {
            worker.value.follow().whenFailure { error in
                Workers.note("keeps version \(worker.value.settings.version): \(error)")
                worker.value.followAgain()
            }
        }
    }

    private func apply(_ delivery: SharedNotificationCenter.RawDelivery) {
        // The latest value is retained: it also comes after a loss.
        guard case .notification(let notification) = delivery else { return }
        do {
            settings = try notification.payload.decode(Settings.self)
            Workers.note("has version \(settings.version)")
        } catch {
            Workers.note("keeps version \(settings.version): \(error)")
        }
    }
}

/// Answers each request with the version of the settings, their greeting, and the worker's process ID.
final class Greeter: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let worker: Worker

    init(_ worker: Worker) { self.worker = worker }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let body = ByteBuffer(string: "\(worker.settings.version) \(worker.settings.greeting) \(getpid())\n")
        let headers: HTTPHeaders = ["content-length": "\(body.readableBytes)", "content-type": "text/plain"]
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .ok, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
