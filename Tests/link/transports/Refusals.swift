// What each transport refuses, with one line, and goes on.

import Foundation
import TidingsLink
import TidingsRelay

/// The events of a transport, in order.
final class Events: @unchecked Sendable {
    // Sendable: `condition` guards it.
    private let condition = NSCondition()
    private var events: [LinkEvent] = []
    private var count = 0

    /// How often the transport was connected.
    var connections: Int {
        condition.lock()
        defer { condition.unlock() }
        return count
    }

    func add(_ event: LinkEvent) {
        condition.lock()
        events.append(event)
        if case .connected = event { count += 1 }
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for an event that is wanted, and forgets it and those before it.
    @discardableResult
    func next<Result>(_ what: String, _ wanted: (LinkEvent) -> Result?) throws -> Result {
        let end = Date(timeIntervalSinceNow: 10)
        condition.lock()
        defer { condition.unlock() }
        var seen = 0
        while true {
            while seen < events.count {
                seen += 1
                if let result = wanted(events[seen - 1]) {
                    events.removeFirst(seen)
                    return result
                }
            }
            try check(condition.wait(until: end), "no \(what), but \(events.map(\.brief))")
        }
    }
    func connected() throws {
        try next("connection") { if case .connected = $0 { true } else { nil } }
    }
    func disconnected(_ part: String) throws -> String {
        try next("line with \"\(part)\"") {
            if case .disconnected(let line) = $0, part.isEmpty || line.contains(part) { line } else { nil }
        }
    }
}

extension LinkEvent {
    fileprivate var brief: String {
        if case .received(let bytes) = self { return "\(bytes.count) bytes" }
        return "\(self)"
    }
}

/// The line of a transport that can't be made.
private func refusal(_ body: () throws -> any LinkTransport) throws -> String {
    do {
        try body().close()
    } catch let error as TransportError {
        try check(!error.message.contains("\n") && error.message.hasPrefix("can't "), "not one line: \(error.message)")
        return error.message
    }
    throw Failed(line: "nothing was refused")
}

private func expect(_ line: String, _ parts: String...) throws {
    for part in parts { try check(line.contains(part), "\"\(line)\" lacks \"\(part)\"") }
}

/// A server with options of its own, until `body` ends.
private func withServer<Result>(_ link: TestLink, _ configuration: String, _ body: () throws -> Result) throws -> Result
{
    let path = "\(link.work)/nats.conf"
    try configuration.write(toFile: path, atomically: true, encoding: .utf8)
    let server = Between(
        natsServer(), ["-a", "127.0.0.1", "-p", "\(link.port + 2)", "-c", path], port: link.port + 2)
    try server.start()
    defer { server.kill() }
    return try body()
}

extension TestLink {
    fileprivate func nats(
        _ url: String? = nil, credentials: String? = nil, authority: String? = nil,
        onEvent: @escaping @Sendable (LinkEvent) -> Void = { _ in }
    ) throws -> NATSTransport {
        try NATSTransport(
            NATSOptions(
                url: url ?? "nats://127.0.0.1:\(port + 2)", link: "refusals",
                credentials: credentials.map { "\(work)/\($0)" },
                certificateAuthority: authority.map { "\(work)/\($0).pem" }), onEvent: onEvent)
    }
}

let natsTests: [(String, Test)] = [
    (
        "missing",
        { link in
            let line = try refusal { try link.nats("nats://127.0.0.1:\(link.port + 3)") }
            try expect(line, "127.0.0.1:\(link.port + 3)")
            return line
        }
    ),
    (
        "certificates",
        { link in
            let tls = "tls { cert_file: \"\(link.work)/relay.pem\", key_file: \"\(link.work)/relay.key\" }"
            return try withServer(link, tls) {
                for url in ["nats", "tls"] {
                    try link.nats("\(url)://127.0.0.1:\(link.port + 2)", authority: "authority").close()
                }
                let wrong = try refusal { try link.nats(authority: "other") }
                try expect(wrong, "certificate")
                let none = try refusal { try link.nats(authority: "nothing") }
                try expect(none, "nothing.pem")
                return "the right authority connects; \(wrong); \(none)"
            }
        }
    ),
    (
        "credentials",
        { link in
            let configuration = try String(contentsOfFile: "\(link.work)/credentials.conf", encoding: .utf8)
            return try withServer(link, configuration) {
                try link.nats(credentials: "right.creds").close()
                var lines: [String] = []
                for name in ["wrong.creds", "garbage.creds", "nothing.creds"] {
                    lines.append(try refusal { try link.nats(credentials: name) })
                }
                lines.append(try refusal { try link.nats() })
                return "the right ones connect; \(lines.joined(separator: "; "))"
            }
        }
    ),
    (
        "again",
        { link in
            // The server refuses a client that it had taken, and takes it again later.
            let events = Events()
            let taken = "authorization { user: a, password: b }"
            let transport = try withServer(link, taken) {
                try link.nats("nats://a:b@127.0.0.1:\(link.port + 2)") { events.add($0) }
            }
            try events.connected()
            let line = try withServer(link, "authorization { user: a, password: c }") {
                try events.disconnected("uthoriz")
            }
            try withServer(link, taken) { try events.connected() }
            transport.close()
            return "refused meanwhile (\(line)), and connected again"
        }
    ),
    (
        "permissions",
        { link in
            func permits(_ what: String) -> String {
                "authorization { users: [{ user: a, password: b, permissions: { \(what) } }] }"
            }
            let url = "nats://a:b@127.0.0.1:\(link.port + 2)"
            let refused = try withServer(link, permits("subscribe: x")) { try refusal { try link.nats(url) } }
            try expect(refused, "permit")
            // It may not publish, and later it may.
            let events = Events()
            let transport = try withServer(link, permits("publish: { deny: \">\" }")) {
                let transport = try link.nats(url) { events.add($0) }
                _ = transport.send([1])
                _ = try events.disconnected("permit")
                return transport
            }
            try withServer(link, permits("")) { try events.connected() }
            transport.close()
            return "\(refused); permitted later, it connects"
        }
    ),
    (
        "stopped",
        { link in
            // The server takes nothing: `send` answers "not now", and does not wait.
            let server = Between(natsServer(), ["-a", "127.0.0.1", "-p", "\(link.port + 2)"], port: link.port + 2)
            try server.start()
            defer { server.kill() }
            let events = Events()
            let transport = try link.nats { events.add($0) }
            try events.connected()
            server.send(SIGSTOP)
            let message = [UInt8](repeating: 1, count: 1 << 16)
            var sent = 0
            sending: while true {
                switch transport.send(message) {
                case .sent: sent += 1
                case .busy: break sending
                case .notConnected: throw Failed(line: "it waited until the connection was lost")
                }
            }
            server.send(SIGCONT)
            transport.close()
            return "not now, after \(sent) messages of 64 KiB"
        }
    ),
    (
        "old",
        { link in
            let listener = listening(at: link.port + 2)
            // Ends with the process.
            Thread.detachNewThread {
                while true {
                    let client = accept(listener, nil, nil)
                    if client < 0 { return }
                    Thread.detachNewThread {
                        let info =
                            #"INFO {"server_id":"A","version":"2.8.4","max_payload":1048576,"proto":1,"headers":true}"#
                        send(client, info + "\r\n", info.utf8.count + 2, Int32(MSG_NOSIGNAL))
                        var bytes = [UInt8](repeating: 0, count: 4096)
                        while read(client, &bytes, bytes.count) > 0 {
                            send(client, "PONG\r\n", 6, Int32(MSG_NOSIGNAL))
                        }
                        Glibc.close(client)
                    }
                }
            }
            defer { shutdown(listener, Int32(SHUT_RDWR)) }
            let line = try refusal { try link.nats() }
            try expect(line, "2.8.4", "2.9 or later")
            return line
        }
    ),
    (
        "small",
        { link in
            // Frames go in parts of what the server takes.
            try withServer(link, "max_payload: 4096") {
                var small = link
                small.port += 2
                let (left, right) = try small.pair()
                let payload = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                left.locked { for _ in 0..<10 { left.post("a", payload) } }
                let account = try balance(left, right, "a")
                let isEqual = right.locked {
                    right.center.records(from: 0).allSatisfy { $0.content.payload == payload }
                }
                try check(account.lost == 0 && isEqual, "\(account)")
                left.stop()
                right.stop()
                return "10 payloads of 300,000 bytes by a server that takes 4,096"
            }
        }
    ),
]

/// What a side that listens, and one that connects, tell of each other.
private func lines(_ link: TestLink, left: String, right: String, authority: String = "authority") throws -> String {
    let (leftEvents, rightEvents) = (Events(), Events())
    let listening = try TLSTransport(link.tlsOptions(isLeft: true, name: left)) { leftEvents.add($0) }
    let connecting = try TLSTransport(link.tlsOptions(isLeft: false, name: right, authority: authority)) {
        rightEvents.add($0)
    }
    defer {
        connecting.close()
        listening.close()
    }
    let both = "\(try leftEvents.disconnected("")) / \(try rightEvents.disconnected(""))"
    try check(leftEvents.connections == 0 && rightEvents.connections == 0, "a side was connected")
    return both
}

let tlsTests: [(String, Test)] = [
    (
        "certificates",
        { link in
            let stranger = try lines(link, left: "relay", right: "stranger")
            try expect(
                stranger, "its certificate is not of this link's authority", "it does not accept the certificate")
            let elsewhere = try lines(link, left: "elsewhere", right: "relay")
            try expect(elsewhere, "another host")
            let other = try lines(link, left: "relay", right: "relay", authority: "other")
            try expect(other, "its certificate is not of this link's authority")
            let file = try refusal {
                try TLSTransport(link.tlsOptions(isLeft: false, name: "nothing")) { _ in }
            }
            try expect(file, "nothing.pem", "No such file")
            let taken = try TLSTransport(link.tlsOptions(isLeft: true)) { _ in }
            let twice = try refusal { try TLSTransport(link.tlsOptions(isLeft: true)) { _ in } }
            taken.close()
            try expect(twice, "can't listen", "in use")
            return [stranger, elsewhere, other, file, twice].joined(separator: "; ")
        }
    ),
    (
        "addresses",
        { _ in
            for url in [
                "nats://a:1", "tls://", "tls://a", "tls://a:", "tls://:1", "tls://a:0", "tls://a:65536", "tls://::1:1",
                "tls://a:-1",
            ] {
                var line: String?
                do throws(TransportError) {
                    _ = try TLSOptions(url: url, certificate: "", key: "", authority: "")
                } catch {
                    line = error.message
                }
                try check(line?.contains("can't use link address") == true, "\(url): \(line ?? "taken")")
            }
            for url in ["tls://a:1", "tls-listen://0.0.0.0:0", "tls://[::1]:1", "tls://a.example:4433/"] {
                _ = try TLSOptions(url: url, certificate: "", key: "", authority: "")
            }
            return "9 addresses refused, 4 taken"
        }
    ),
    (
        "third",
        { link in
            // A second client has a right certificate, too: the first one stays.
            let (first, second, left) = (Events(), Events(), Events())
            let listening = try TLSTransport(link.tlsOptions(isLeft: true)) { left.add($0) }
            let connecting = try TLSTransport(link.tlsOptions(isLeft: false)) { first.add($0) }
            try first.connected()
            try left.connected()
            let late = try TLSTransport(link.tlsOptions(isLeft: false)) { second.add($0) }
            let line = try second.disconnected("")
            // The first one's connection still works.
            _ = connecting.send([1, 2, 3])
            try left.next("message") { if case .received([1, 2, 3]) = $0 { true } else { nil } }
            try check(second.connections == 0 && first.connections == 1, "the second one was connected")
            late.close()
            connecting.close()
            listening.close()
            return line
        }
    ),
    ("hostile", hostile),
]
