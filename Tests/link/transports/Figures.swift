// What a relay costs beside its transport's library alone: half of a round trip, and a stream.

import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import TidingsRelay

/// Counts up to a number that a thread waits for.
final class Counter: @unchecked Sendable {
    // Sendable: `condition` guards both.
    private let condition = NSCondition()
    private var count = 0
    private var target = Int.max

    func add(_ number: Int = 1) {
        condition.lock()
        count += number
        if count >= target { condition.signal() }
        condition.unlock()
    }
    func wait(for number: Int) {
        condition.lock()
        target = number
        while count < number { condition.wait() }
        target = .max
        condition.unlock()
    }
}

struct Bare {
    /// Sends 64 bytes, and waits for them.
    var trip: (Int) -> Void
    /// Sends as many messages of 64 bytes to the other side, and waits until it has all.
    var stream: (Int) -> Void
    var end: () -> Void

    /// Microseconds between two messages: each finds all threads asleep.
    static let pause: UInt32 = 300

    func half() -> UInt64 {
        for number in 1...500 { trip(number) }
        let times = (501...3500).map { number -> UInt64 in
            usleep(Bare.pause)
            let start = nanoseconds()
            trip(number)
            return nanoseconds() - start
        }
        return times.sorted()[times.count / 2] / 2
    }
    func rate(_ total: Int) -> Double {
        let start = nanoseconds()
        stream(total)
        return Double(total) / Double(nanoseconds() - start) * 1e9
    }
}

// NATS's C client as a program uses it: the relay has its own way of reading the socket.
@_silgen_name("natsOptions_Create")
func natsOptionsCreate(_ options: inout OpaquePointer?) -> Int32
@_silgen_name("natsOptions_SetURL")
func natsOptionsSetURL(_ options: OpaquePointer?, _ url: UnsafePointer<CChar>) -> Int32
@_silgen_name("natsOptions_SetNoEcho")
func natsOptionsSetNoEcho(_ options: OpaquePointer?, _ isOn: Bool) -> Int32
@_silgen_name("natsOptions_SetSendAsap")
func natsOptionsSetSendAsap(_ options: OpaquePointer?, _ isOn: Bool) -> Int32
@_silgen_name("natsOptions_Destroy")
func natsOptionsDestroy(_ options: OpaquePointer?)
@_silgen_name("natsConnection_Connect")
func natsConnectionConnect(_ connection: inout OpaquePointer?, _ options: OpaquePointer?) -> Int32
@_silgen_name("natsConnection_Subscribe")
func natsConnectionSubscribe(
    _ subscription: inout OpaquePointer?, _ connection: OpaquePointer?, _ subject: UnsafePointer<CChar>,
    _ handler: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> Void,
    _ context: UnsafeMutableRawPointer
) -> Int32
@_silgen_name("natsConnection_FlushTimeout")
func natsConnectionFlushTimeout(_ connection: OpaquePointer?, _ milliseconds: Int64) -> Int32
@_silgen_name("natsConnection_Publish")
func natsConnectionPublish(
    _ connection: OpaquePointer?, _ subject: UnsafePointer<CChar>, _ bytes: UnsafeRawPointer, _ count: Int32
) -> Int32
@_silgen_name("natsConnection_Close")
func natsConnectionClose(_ connection: OpaquePointer?)
@_silgen_name("natsMsg_GetData")
func natsMsgGetData(_ message: OpaquePointer?) -> UnsafePointer<CChar>
@_silgen_name("natsMsg_GetDataLength")
func natsMsgGetDataLength(_ message: OpaquePointer?) -> Int32
@_silgen_name("natsMsg_Destroy")
func natsMsgDestroy(_ message: OpaquePointer?)

/// Two connections, one subject.
func bareNATS(_ link: TestLink) throws -> Bare {
    final class Side: @unchecked Sendable {
        // Sendable: set before the first message.
        var connection: OpaquePointer?
        let counter = Counter()
        var echoes = false
    }
    func open(_ side: Side) throws {
        var options: OpaquePointer?
        var subscription: OpaquePointer?
        var status = natsOptionsCreate(&options)
        defer { natsOptionsDestroy(options) }
        status |= natsOptionsSetURL(options, "nats://127.0.0.1:\(link.port)")
        status |= natsOptionsSetNoEcho(options, true)
        status |= natsOptionsSetSendAsap(options, true)
        status |= natsConnectionConnect(&side.connection, options)
        try check(status == 0, "no connection")
        status = natsConnectionSubscribe(
            &subscription, side.connection, "tidings.link.bare",
            { _, _, message, context in
                let side = Unmanaged<Side>.fromOpaque(context!).takeUnretainedValue()
                let count = natsMsgGetDataLength(message)
                if side.echoes, count == 63 {
                    _ = natsConnectionPublish(side.connection, "tidings.link.bare", natsMsgGetData(message), count)
                } else {
                    side.counter.add()
                }
                natsMsgDestroy(message)
            }, Unmanaged.passRetained(side).toOpaque())
        status |= natsConnectionFlushTimeout(side.connection, 2000)
        try check(status == 0, "no subscription")
    }
    let (here, there) = (Side(), Side())
    there.echoes = true
    try open(there)
    try open(here)
    let bytes = [UInt8](repeating: 0, count: 64)
    return Bare(
        trip: { number in
            _ = natsConnectionPublish(here.connection, "tidings.link.bare", bytes, 63)
            here.counter.wait(for: number)
        },
        stream: { total in
            for _ in 0..<total { _ = natsConnectionPublish(here.connection, "tidings.link.bare", bytes, 64) }
            there.counter.wait(for: total)
        },
        end: {
            natsConnectionClose(here.connection)
            natsConnectionClose(there.connection)
        })
}

/// swift-nio-ssl: messages of 64 bytes behind their length. A stream is written in batches of 64 messages, as a link's.
func bareTLS(_ link: TestLink) throws -> Bare {
    final class Reader: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = ByteBuffer
        let counter: Counter
        let echoes: Bool
        var waiting = ByteBuffer()
        init(_ counter: Counter, echoes: Bool) {
            self.counter = counter
            self.echoes = echoes
        }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            waiting.writeBuffer(&bytes)
            var count = 0
            while let length = waiting.getInteger(at: waiting.readerIndex, as: UInt32.self),
                waiting.readableBytes >= 4 + Int(length)
            {
                if echoes, length == 63 {
                    context.writeAndFlush(NIOAny(waiting.readSlice(length: 4 + Int(length))!), promise: nil)
                } else {
                    waiting.moveReaderIndex(forwardBy: 4)
                    _ = waiting.readBytes(length: Int(length))
                    count += 1
                }
            }
            waiting.discardReadBytes()
            if count > 0 { counter.add(count) }
        }
    }
    let (here, there) = (Counter(), Counter())
    let groups = (0..<2).map { _ in MultiThreadedEventLoopGroup(numberOfThreads: 1) }
    let chain = try NIOSSLCertificate.fromPEMFile("\(link.work)/relay.pem")
    let key = try NIOSSLPrivateKey(file: "\(link.work)/relay.key", format: .pem)
    let roots = NIOSSLTrustRoots.file("\(link.work)/authority.pem")
    var server = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    server.trustRoots = roots
    server.certificateVerification = .noHostnameVerification
    var client = TLSConfiguration.makeClientConfiguration()
    client.certificateChain = chain.map { .certificate($0) }
    client.privateKey = .privateKey(key)
    client.trustRoots = roots
    let contexts = (try NIOSSLContext(configuration: server), try NIOSSLContext(configuration: client))
    let listener = try ServerBootstrap(group: groups[0])
        .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    NIOSSLServerHandler(context: contexts.0), Reader(there, echoes: true))
                try channel.syncOptions!.setOption(.tcpOption(.tcp_nodelay), value: 1)
            }
        }
        .bind(host: "127.0.0.1", port: 0).wait()
    let channel = try ClientBootstrap(group: groups[1])
        .channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    NIOSSLClientHandler(context: contexts.1, serverHostname: nil), Reader(here, echoes: false))
                try channel.syncOptions!.setOption(.tcpOption(.tcp_nodelay), value: 1)
            }
        }
        .connect(host: "127.0.0.1", port: listener.localAddress!.port!).wait()
    func batch(_ count: Int, _ length: Int) -> ByteBuffer {
        var bytes = ByteBuffer()
        for _ in 0..<count {
            bytes.writeInteger(UInt32(length))
            bytes.writeRepeatingByte(0, count: length)
        }
        return bytes
    }
    let one = batch(1, 63)
    let many = batch(64, 64)
    return Bare(
        trip: { number in
            channel.writeAndFlush(one, promise: nil)
            here.wait(for: number)
        },
        stream: { total in
            for _ in 0..<(total / 64) {
                while !channel.isWritable { usleep(100) }
                channel.writeAndFlush(many, promise: nil)
            }
            there.wait(for: total / 64 * 64)
        },
        end: {
            try? channel.close().wait()
            try? listener.close().wait()
            for group in groups { try? group.syncShutdownGracefully() }
        })
}

/// The library alone, for Tests/relay/namespaces/figures.py.
@Sendable func bare(_ link: TestLink) throws -> String {
    let bare = try link.kind == .nats ? bareNATS(link) : bareTLS(link)
    defer { bare.end() }
    return "\(bare.half()) \(UInt64(bare.rate(300_032)))"
}

@Sendable func figures(_ link: TestLink) throws -> String {
    let total = 300_032
    let bare = try link.kind == .nats ? bareNATS(link) : bareTLS(link)
    let half = bare.half()
    let bareRate = bare.rate(total)
    bare.end()

    let (left, right) = try link.pair(slots: 1 << 20)
    nonisolated(unsafe) var times: [UInt64] = []
    right.locked { right.onArrival = { times.append(nanoseconds() - $0.content.postedAt) } }
    for number in 1...3500 {
        usleep(Bare.pause)
        left.locked { left.post("a", [UInt8](repeating: 0, count: 64)) }
        try check(right.wait(10) { right.arrived >= number }, "a notification did not arrive")
    }
    let latency = times.dropFirst(500).sorted()[1500]
    if CommandLine.arguments.contains("--trace") {
        let sorted = times.sorted()
        print(
            [0, 25, 50, 75, 90, 95, 98, 99, 100].map { sorted[min(sorted.count - 1, sorted.count * $0 / 100)] / 1000 })
    }
    right.locked {
        right.onArrival = nil
        right.arrived = 0
    }
    let start = nanoseconds()
    for _ in 0..<(total / 512) {
        left.locked { for _ in 0..<512 { left.post("a", [UInt8](repeating: 0, count: 64)) } }
    }
    let account = try balance(left, right, "a")
    if CommandLine.arguments.contains("--trace") { print("balanced after \(Double(nanoseconds() - start) / 1e9) s") }
    let rate = Double(right.arrived) / Double(right.arrivedAt - start) * 1e9
    left.stop()
    right.stop()
    let name = link.kind == .nats ? "NATS" : "TLS"
    return String(
        format: "post to arrival %.1f µs, half of \(name)'s round trip %.1f µs (%.2f ×); "
            + "%.0f a second, \(name) alone %.0f (%.2f ×), %d lost",
        Double(latency) / 1000, Double(half) / 1000, Double(latency) / Double(half), rate, bareRate, rate / bareRate,
        Int(account.lost))
}
