// What each transport must pass.

import Foundation
import TidingsLink
import TidingsRelay

struct Failed: Error { var line: String }
func check(_ isTrue: Bool, _ line: @autoclosure () -> String) throws {
    if !isTrue { throw Failed(line: line()) }
}

/// A link of two relays, and what is between them.
struct TestLink: Sendable {
    enum Kind: String {
        case nats, tls
        var messages: String { "1 MiB" }
    }
    var kind: Kind
    var work: String
    /// The ports from here on are this run's.
    var port: UInt16
    var between: Between

    init(_ kind: Kind, work: String, port: UInt16) {
        self.kind = kind
        self.work = work
        self.port = port
        switch kind {
        case .nats: between = Between(natsServer(), ["-a", "127.0.0.1", "-p", "\(port)"], port: port)
        case .tls:
            between = Between(
                CommandLine.arguments[0], ["forward", "\(port)", "\(port + 1)"], port: port)
        }
    }

    /// Each side's end of it. The left one listens, if one does.
    func transport(isLeft: Bool) -> TransportMaker {
        { [self] onEvent in
            switch kind {
            case .nats: try NATSTransport(NATSOptions(url: "nats://127.0.0.1:\(port)", link: "test"), onEvent: onEvent)
            case .tls: try TLSTransport(tlsOptions(isLeft: isLeft), onEvent: onEvent)
            }
        }
    }

    func tlsOptions(isLeft: Bool, name: String = "relay", authority: String = "authority") throws -> TLSOptions {
        try TLSOptions(
            url: isLeft ? "tls-listen://127.0.0.1:\(port + 1)" : "tls://127.0.0.1:\(port)",
            certificate: "\(work)/\(name).pem", key: "\(work)/\(name).key", authority: "\(work)/\(authority).pem")
    }

    /// Two relays that have compared.
    func pair(slots: UInt64 = 1 << 16) throws -> (Host, Host) {
        let left = Host(.random(in: 1...1 << 40), slots: slots, makeTransport: transport(isLeft: true))
        let right = Host(.random(in: 1...1 << 40), slots: slots, makeTransport: transport(isLeft: false))
        try left.start()
        try right.start()
        for host in [left, right] {
            try check(host.wait(60) { host.isUp && host.center.checkpoint?.places.isEmpty == false }, "no connection")
        }
        return (left, right)
    }
}

/// Waits until `to` has accounted for all posts of `from`, as long as each 30 seconds add some.
func balance(_ from: Host, _ to: Host, _ name: LinkName) throws -> Account {
    let count = from.locked { from.center.own[name] ?? 0 }
    var (isBalanced, before, now) = (false, Account?.none, Account?.none)
    repeat {
        before = now
        isBalanced = to.wait(30) { to.account(of: from, name)?.count == count }
        now = to.locked { to.account(of: from, name) }
    } while !isBalanced && now?.count != before?.count
    let account = now ?? Account(sequence: 0, count: 0, base: 0)
    try check(isBalanced, "\(count) posted, \(account)")
    return account
}

typealias Test = @Sendable (TestLink) throws -> String

let commonTests: [(String, Test)] = [
    (
        "streams",
        { link in
            let (left, right) = try link.pair()
            for round in 0..<100 {
                for (host, name) in [(left, "a"), (right, "b")] as [(Host, LinkName)] {
                    host.locked { for number in 0..<300 { host.post(name, [UInt8(round), UInt8(number % 256)]) } }
                }
            }
            let accounts = (try balance(left, right, "a"), try balance(right, left, "b"))
            try check(accounts.0.lost == 0 && accounts.1.lost == 0, "\(accounts)")
            try check(left.arrived == 30_000 && right.arrived == 30_000, "\(left.arrived) and \(right.arrived)")
            left.stop()
            right.stop()
            return "30,000 notifications each way, none lost"
        }
    ),
    (
        "large",
        { link in
            let (left, right) = try link.pair()
            let payload = (0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            left.locked { for _ in 0..<5 { left.post("a", payload) } }
            let account = try balance(left, right, "a")
            try check(account.lost == 0, "\(account)")
            let isEqual = right.locked {
                right.center.records(from: 0).allSatisfy { $0.content.payload == payload }
            }
            try check(isEqual, "the payload changed")
            left.stop()
            right.stop()
            return "5 payloads of 5 MiB, with messages of \(link.kind.messages)"
        }
    ),
    (
        "cuts",
        { link in
            // A ring of 1,024: what is posted while the server is away may leave it.
            let (left, right) = try link.pair(slots: 1024)
            for round in 0..<8 {
                for host in [left, right] { try check(host.wait(60) { host.isUp }, "no connection") }
                for _ in 0..<40 {
                    left.locked { for _ in 0..<50 { left.post("a", [1, 2, 3], isRetained: round % 2 == 0) } }
                    usleep(5000)
                }
                link.between.kill()
                left.locked { for _ in 0..<(400 * round) { left.post("a", [4]) } }
                usleep(200_000)
                try link.between.start()
            }
            left.locked { left.post("a", [9], isRetained: true) }
            let account = try balance(left, right, "a")
            let values = right.wait(60) { right.center.value(of: "a")?.content.payload == [9] }
            try check(values, "the retained values differ")
            let counted = right.locked { right.counted }
            try check(
                counted + account.lost == account.count && account.lostUnsure == 0, "\(counted) arrived, \(account)")
            left.stop()
            right.stop()
            return
                "8 kills of what is between: \(account.count) posted, \(counted) arrived, \(account.lost) lost"
        }
    ),
    (
        "deaths",
        { link in
            let (left, right) = try link.pair(slots: 4096)
            for round in 0..<10 {
                for _ in 0..<10 {
                    left.locked { for _ in 0..<50 { left.post("a", [1]) } }
                    usleep(1000)
                }
                let host = round % 2 == 0 ? left : right
                host.stop()
                left.locked { for _ in 0..<100 { left.post("a", [2]) } }
                try host.start()
            }
            let account = try balance(left, right, "a")
            let counted = right.locked { right.counted }
            try check(counted == account.count && account.lost == 0, "\(counted) arrived, \(account)")
            left.stop()
            right.stop()
            return "10 deaths of relays: \(account.count) posted, each arrived once"
        }
    ),
    (
        "slow",
        { link in
            // The right relay handles nothing for a second: the left one's posts do not wait, and its ring keeps them.
            let (left, right) = try link.pair()
            let payload = [UInt8](repeating: 7, count: 4096)
            right.condition.lock()
            var slowest: UInt64 = 0
            for _ in 0..<200 {
                let start = nanoseconds()
                left.locked { for _ in 0..<100 { left.post("a", payload) } }
                slowest = max(slowest, nanoseconds() - start)
                usleep(5000)
            }
            right.condition.unlock()
            let account = try balance(left, right, "a")
            try check(account.lost == 0, "\(account)")
            left.stop()
            right.stop()
            return "20,000 posts of 4 KiB beside a relay that stands still: none lost, "
                + "100 posts took \(slowest / 1_000_000) ms at most"
        }
    ),
    (
        "idle",
        { link in
            let (left, right) = try link.pair()
            sleep(2)
            let before = (left.locked { left.frames }, right.locked { right.frames })
            sleep(6)
            let after = (left.locked { left.frames }, right.locked { right.frames })
            let frames = (after.0 - before.0, after.1 - before.1)
            try check(frames.0 <= 7 && frames.1 <= 7, "\(frames) frames in 6 s")
            left.stop()
            right.stop()
            return "\(frames.0) and \(frames.1) frames in 6 s"
        }
    ),
]
