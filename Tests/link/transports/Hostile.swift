// A peer with a right certificate that sends anything.

import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import TidingsRelay

/// A TLS connection without the rules of the transport.
private final class Raw: Sendable {
    let channel: any Channel

    init(_ link: TestLink, _ group: any EventLoopGroup) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateChain = try NIOSSLCertificate.fromPEMFile("\(link.work)/relay.pem").map {
            .certificate($0)
        }
        configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: "\(link.work)/relay.key", format: .pem))
        configuration.trustRoots = .file("\(link.work)/authority.pem")
        let context = try NIOSSLContext(configuration: configuration)
        channel = try ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: nil))
                }
            }
            .connect(host: "127.0.0.1", port: Int(link.port + 1)).wait()
    }

    func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
}

private let greeting = Array("tidings link 1 00000000000000ff\n".utf8)
private func length(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }

/// Each ends the connection, and nothing else: a right peer connects afterwards.
@Sendable func hostile(_ link: TestLink) throws -> String {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    defer { try? group.syncShutdownGracefully() }
    let events = Events()
    let listening = try TLSTransport(link.tlsOptions(isLeft: true)) { events.add($0) }
    defer { listening.close() }
    for (bytes, part) in [
        (Array("GET / HTTP/1.1\r\n\r\n".utf8), "did not greet"),
        (greeting + length(0), "message of 0 bytes"),
        (greeting + length(1 << 20 + 1), "message of 1048577 bytes"),
        (greeting + length(.max) + [1], "message of 4294967295 bytes"),
    ] {
        let raw = try Raw(link, group)
        raw.send(bytes)
        _ = try events.disconnected(part)
        try raw.channel.closeFuture.wait()
    }
    // Messages cut anywhere arrive whole; what follows a wrong length does not arrive.
    var random = Random(seed: 1)
    let seed = UInt64(ProcessInfo.processInfo.environment["LINK_SEED"] ?? "") ?? .random(in: 0...UInt64(UInt32.max))
    random = Random(seed: seed)
    var total = 0
    for _ in 0..<30 {
        let raw = try Raw(link, group)
        var stream = greeting
        var messages: [[UInt8]] = []
        for _ in 0..<random.below(20) {
            let size = 1 + random.below(random.chance(10) ? 1 << 20 : 300)
            messages.append((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) })
            stream += length(UInt32(size)) + messages.last!
        }
        if random.chance(50) { stream += length(0) + [9, 9, 9] }
        while !stream.isEmpty {
            let count = min(stream.count, 1 + random.below(random.chance(20) ? 5 : 100_000))
            raw.send(Array(stream.prefix(count)))
            stream.removeFirst(count)
        }
        // A connection that ends before is a refusal, which is told at most every 10 s.
        try events.connected()
        for message in messages {
            let received = try events.next("message (LINK_SEED=\(seed))") { event -> [UInt8]? in
                if case .received(let bytes) = event { bytes } else { nil }
            }
            try check(received == message, "another message (LINK_SEED=\(seed))")
            total += 1
        }
        raw.channel.close(promise: nil)
        try? raw.channel.closeFuture.wait()
        _ = try events.disconnected("")
    }
    // A cut: the connection stays, and is silent. The peer itself may replace it, another relay may not.
    let first = try Raw(link, group)
    first.send(greeting)
    try events.connected()
    let other = try Raw(link, group)
    other.send(Array("tidings link 1 00000000000000fe\n".utf8))
    try other.channel.closeFuture.wait()
    let second = try Raw(link, group)
    second.send(greeting)
    _ = try events.disconnected("the peer has connected again")
    try events.connected()
    try first.channel.closeFuture.wait()
    second.channel.close(promise: nil)
    _ = try events.disconnected("the peer ended")
    let right = Events()
    let connecting = try TLSTransport(link.tlsOptions(isLeft: false)) { right.add($0) }
    try right.connected()
    connecting.close()
    return
        "4 wrong beginnings and lengths ended their connections; \(total) messages cut anywhere arrived (seed \(seed))"
}
