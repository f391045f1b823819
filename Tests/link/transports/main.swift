// The conformance suite of transports: two relays with centers in memory over a real one, here NATS with a server of
// its own. `transports NATS-SERVER PORT [TEST…]`; each test prints a line.

import Foundation

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    print("usage: transports NATS-SERVER PORT [TEST…]")
    exit(64)
}
let url = "nats://127.0.0.1:\(arguments[2])"

@Sendable func nanoseconds() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

/// A nats-server that the tests start, kill and start again.
final class Server: @unchecked Sendable {
    private var process: Process?
    func start() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: arguments[1])
        process.arguments = ["-a", "127.0.0.1", "-p", arguments[2]]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        self.process = process
        // The port is open when the server takes a connection.
        while true {
            let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { Glibc.close(probe) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(arguments[2])!).bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 { return }
            usleep(10_000)
        }
    }
    func kill() {
        guard let process else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }
}

/// A center in memory, its relay, and a thread that drives it.
final class Host: @unchecked Sendable {
    // Sendable: `condition` guards everything.
    let condition = NSCondition()
    var center: SimulatedCenter
    private var core: RelayCore?
    private var port: LinkPort?
    private var events: [LinkEvent] = []
    private var isEnding = false
    private var isDone = true
    private let limits: LinkLimits
    private let link: LinkConfiguration
    /// Notifications that arrived, and the time of the last one.
    var arrived = 0
    var arrivedAt: UInt64 = 0
    var onArrival: (@Sendable (Post) -> Void)?
    var frames = 0

    init(_ number: UInt64, slots: UInt64 = 1 << 16, limits: LinkLimits = LinkLimits()) {
        center = SimulatedCenter(
            origin: Origin(incarnation: number, host: "host\(number)", center: "player"), slots: slots)
        self.limits = limits
        link = LinkConfiguration(name: "test", sends: .all, accepts: .all)
    }

    func start() throws {
        if let checkpoint = center.checkpoint {
            var core = RelayCore(
                checkpoint: checkpoint, oldest: center.oldest, slots: center.slots, links: [link], limits: limits)
            core.replay(center.records(from: center.oldest).map { $0.record(&core) })
            core.refresh(center.retained(&core), date: 0)
            self.core = core
        } else {
            core = RelayCore(
                center: center.origin, slots: center.slots, links: [link], position: center.end, limits: limits)
        }
        isEnding = false
        isDone = false
        let transport = try NATSTransport(NATSOptions(url: url, link: "test")) { [self] event in
            condition.lock()
            events.append(event)
            condition.signal()
            condition.unlock()
        }
        port = LinkPort(transport: transport, limits: limits)
        let thread = Thread { [self] in run() }
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Ends the relay without any notice, as a kill does.
    func stop() {
        condition.lock()
        isEnding = true
        condition.broadcast()
        while !isDone { condition.wait() }
        let port = self.port
        self.port = nil
        core = nil
        events = []
        condition.unlock()
        port?.transport.close()
    }

    func post(_ name: LinkName, _ payload: [UInt8], isRetained: Bool = false) {
        center.post(
            name, Content(postedAt: nanoseconds(), payload: payload), isRetained: isRetained, isCleared: false,
            relayed: nil)
    }

    func locked<Result>(_ body: () -> Result) -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return body()
    }

    /// Waits until the condition holds; false after `seconds`.
    func wait(_ seconds: Double, until isTrue: () -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while !isTrue() {
            if !condition.wait(until: end) { return isTrue() }
        }
        return true
    }

    func account(of host: Host, _ name: LinkName) -> Account? {
        core?.account(of: host.center.origin.incarnation, name: name)
    }

    /// The notifications of others in this center, without values of comparisons.
    var counted: UInt64 { UInt64(center.records(from: 0).filter { $0.relayed?.isValue == false }.count) }

    var isUp: Bool { core?.peer(ofLink: 0) != nil }

    private func run() {
        condition.lock()
        while !isEnding {
            core!.advance(to: nanoseconds() / 1_000_000)
            for event in events {
                switch event {
                case .connected:
                    let session = UInt64.random(in: 1 ..< .max)
                    port!.connected(session: session)
                    core!.connected(0, session: session)
                case .disconnected: core!.disconnected(0)
                case .received(let bytes):
                    if let frame = port!.frame(from: bytes) { core!.received(frame, link: 0) }
                }
            }
            events.removeAll(keepingCapacity: true)
            center.read(&core!, date: 0, ownAreRead: false)
            var isBusy = false
            while events.isEmpty, let output = core!.next(center) {
                switch output {
                case .store(let checkpoint):
                    center.checkpoint = checkpoint
                    core!.stored()
                case .post(let post):
                    let position = center.post(
                        core!.name(post.name), post.content, isRetained: post.isRetained, isCleared: post.isCleared,
                        relayed: post.relayed)
                    core!.posted(at: position)
                    arrived += 1
                    arrivedAt = nanoseconds()
                    onArrival?(post)
                    if arrived % 256 == 0 { condition.broadcast() }
                case .send(_, let frame):
                    frames += 1
                    if case .busy = port!.send(frame) {
                        core!.setWritable(false, link: 0)
                        isBusy = true
                    }
                }
            }
            condition.broadcast()
            guard events.isEmpty, !isEnding, core!.cursor == center.end else { continue }
            let now = nanoseconds() / 1_000_000
            let deadline = isBusy ? now + 2 : max(core!.deadline ?? now + 1000, now + 1)
            _ = condition.wait(until: Date(timeIntervalSinceNow: Double(deadline - now) / 1000))
            if isBusy { core!.setWritable(true, link: 0) }
        }
        isDone = true
        condition.broadcast()
        condition.unlock()
    }
}

struct Failed: Error { var line: String }
func check(_ isTrue: Bool, _ line: @autoclosure () -> String) throws {
    if !isTrue { throw Failed(line: line()) }
}

/// The other side of a round trip.
final class Echo: @unchecked Sendable {
    // Sendable: `transport` is set before the first message is sent.
    var transport: NATSTransport?
}

let server = Server()

/// Two relays that have compared.
func pair(slots: UInt64 = 1 << 16) throws -> (Host, Host) {
    let hosts = (Host(.random(in: 1...1 << 40), slots: slots), Host(.random(in: 1...1 << 40), slots: slots))
    try hosts.0.start()
    try hosts.1.start()
    for host in [hosts.0, hosts.1] {
        try check(host.wait(10) { host.isUp && host.center.checkpoint?.places.isEmpty == false }, "no connection")
    }
    return hosts
}

func balance(_ from: Host, _ to: Host, _ name: LinkName, seconds: Double = 30) throws -> Account {
    let count = from.locked { from.center.own[name] ?? 0 }
    let isBalanced = to.wait(seconds) { to.account(of: from, name)?.count == count }
    let account = to.locked { to.account(of: from, name) } ?? Account(sequence: 0, count: 0, base: 0)
    try check(isBalanced, "\(count) posted, \(account)")
    return account
}

let tests: [(String, () throws -> String)] = [
    (
        "streams",
        {
            let (left, right) = try pair()
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
        {
            let (left, right) = try pair()
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
            return "5 payloads of 5 MiB, with messages of 1 MiB"
        }
    ),
    (
        "cuts",
        {
            // A ring of 1,024: what is posted while the server is away may leave it.
            let (left, right) = try pair(slots: 1024)
            for round in 0..<8 {
                for host in [left, right] { try check(host.wait(10) { host.isUp }, "no connection") }
                for _ in 0..<40 {
                    left.locked { for _ in 0..<50 { left.post("a", [1, 2, 3], isRetained: round % 2 == 0) } }
                    usleep(5000)
                }
                server.kill()
                left.locked { for _ in 0..<(400 * round) { left.post("a", [4]) } }
                usleep(200_000)
                try server.start()
            }
            left.locked { left.post("a", [9], isRetained: true) }
            let account = try balance(left, right, "a")
            let values = right.wait(10) { right.center.value(of: "a")?.content.payload == [9] }
            try check(values, "the retained values differ")
            let counted = right.locked { right.counted }
            try check(
                counted + account.lost == account.count && account.lostUnsure == 0, "\(counted) arrived, \(account)")
            left.stop()
            right.stop()
            return "8 kills of the server: \(account.count) posted, \(counted) arrived, \(account.lost) counted as lost"
        }
    ),
    (
        "deaths",
        {
            let (left, right) = try pair(slots: 4096)
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
        "idle",
        {
            let (left, right) = try pair()
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
    (
        "figures",
        {
            // NATS alone, by the same client.
            let condition = NSCondition()
            nonisolated(unsafe) var count = 0
            let echo = Echo()
            let there = try NATSTransport(NATSOptions(url: url, link: "bare")) { event in
                guard case .received(let bytes) = event else { return }
                if bytes.count == 63 { _ = echo.transport!.send(bytes) }
                condition.lock()
                count += 1
                if bytes[0] == 1 { condition.signal() }
                condition.unlock()
            }
            echo.transport = there
            nonisolated(unsafe) var back = 0
            let here = try NATSTransport(NATSOptions(url: url, link: "bare")) { event in
                guard case .received = event else { return }
                condition.lock()
                back += 1
                condition.signal()
                condition.unlock()
            }
            usleep(200_000)
            var trips: [UInt64] = []
            for number in 1...3000 {
                let start = nanoseconds()
                _ = here.send([UInt8](repeating: 0, count: 63))
                condition.lock()
                while back < number { condition.wait() }
                condition.unlock()
                trips.append(nanoseconds() - start)
            }
            let half = trips.sorted()[trips.count / 2] / 2
            let total = 300_000
            condition.lock()
            count = 0
            condition.unlock()
            var start = nanoseconds()
            for number in 1...total {
                let bytes = [UInt8](repeating: number == total ? 1 : 0, count: 64)
                while case .busy = here.send(bytes) { usleep(100) }
            }
            condition.lock()
            while count < total { condition.wait() }
            condition.unlock()
            let bare = Double(total) / Double(nanoseconds() - start) * 1e9
            here.close()
            there.close()

            let (left, right) = try pair(slots: 1 << 20)
            nonisolated(unsafe) var times: [UInt64] = []
            right.locked { right.onArrival = { times.append(nanoseconds() - $0.content.postedAt) } }
            for number in 1...3000 {
                left.locked { left.post("a", [UInt8](repeating: 0, count: 64)) }
                try check(right.wait(10) { right.arrived >= number }, "a notification did not arrive")
            }
            let latency = times.sorted()[times.count / 2]
            right.locked {
                right.onArrival = nil
                right.arrived = 0
            }
            start = nanoseconds()
            for _ in 0..<(total / 500) {
                left.locked { for _ in 0..<500 { left.post("a", [UInt8](repeating: 0, count: 64)) } }
            }
            let account = try balance(left, right, "a", seconds: 60)
            let rate = Double(right.arrived) / Double(right.arrivedAt - start) * 1e9
            left.stop()
            right.stop()
            return String(
                format: "post to arrival %.1f µs, half of NATS's round trip %.1f µs (%.2f ×); "
                    + "%.0f a second, NATS alone %.0f (%.2f ×), %d lost",
                Double(latency) / 1000, Double(half) / 1000, Double(latency) / Double(half), rate, bare, rate / bare,
                Int(account.lost))
        }
    ),
]

try server.start()
var status: Int32 = 0
let chosen = Set(arguments.dropFirst(3))
for (name, test) in tests where chosen.isEmpty || chosen.contains(name) {
    do {
        print("\(name): \(try test())")
    } catch {
        print("\(name): FAILED: \(error)")
        status = 1
    }
}
server.kill()
exit(status)
