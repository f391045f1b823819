// What the link core costs: two relays joined by encoded frames, without transport and without centers.
// `figures [NOTIFICATIONS [BYTES [NAMES]]]` prints nanoseconds of processor time for each notification.

import Glibc

func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

struct NoRing: RingReading {
    func content(at position: UInt64) -> Content? { nil }
    func value(of name: LinkName) -> (position: UInt64, content: Content)? { nil }
}

/// Holds its relay as a driver does.
final class Driver {
    var core: RelayCore
    let limits = LinkLimits()
    let ring = NoRing()
    /// The position of the next notification in this relay's center.
    var end: UInt64 = 0
    var arrived = 0
    var frames: [[UInt8]] = []
    var framesSent = 0
    var bytesSent = 0
    var spent: UInt64 = 0

    init(number: UInt64) {
        core = RelayCore(
            center: Origin(incarnation: number, host: "host", center: "center"), slots: 1 << 16,
            links: [LinkConfiguration(name: "figures", sends: .all, accepts: .all)], position: 0, limits: limits)
        core.connected(0, session: number + 7)
    }

    /// Carries out what the relay asks for. Posts are counted, and have no other effect.
    func run() {
        while let output = core.next(ring) {
            switch output {
            case .dialog: break
            case .store: core.stored()
            case .post(let post):
                post.content.withBytes { arrived += $1.isEmpty ? 0 : 1 }
                core.posted(at: end)
                end += 1
            case .send(_, let frame):
                frames.append(FrameCoding.encode(frame))
                framesSent += 1
                bytesSent += frames[frames.count - 1].count
            }
        }
        core.readThrough(end)
    }

    func receive(_ frames: [[UInt8]]) {
        for bytes in frames {
            guard let frame = FrameCoding.decode(bytes, limits: limits) else { fatalError("a frame does not decode") }
            core.received(frame, link: 0)
        }
    }

    func post(_ count: Int, _ names: [[UInt8]], _ payload: [UInt8]) {
        payload.withUnsafeBytes { payload in
            for _ in 0..<count {
                names[Int(end) % names.count].withUnsafeBytes { name in
                    let record = RingRecord(
                        position: end, name: core.number(of: name) ?? -1, postedAt: end + 1_000_000_000)
                    core.read(
                        record,
                        ContentView(
                            subject: UnsafeRawBufferPointer(start: nil, count: 0), payload: payload, format: 1, pid: 1,
                            uid: 1, postedAt: end + 1_000_000_000))
                }
                end += 1
            }
        }
    }

    /// Adds the processor time of `body`.
    func measured(_ body: () -> Void) {
        let start = nanoseconds()
        body()
        spent += nanoseconds() - start
    }
}

let arguments = CommandLine.arguments.dropFirst().map { Int($0) ?? 0 }
let total = arguments.first ?? 4_000_000
let size = max(1, arguments.count > 1 ? arguments[1] : 64)
let names = (0..<(arguments.count > 2 ? arguments[2] : 8)).map { Array("com.example.figures.\($0)".utf8) }
let payload = [UInt8](repeating: 7, count: size)
let (sender, receiver) = (Driver(number: 1), Driver(number: 2))

@MainActor func exchange(_ time: UInt64) {
    for driver in [sender, receiver] {
        driver.core.advance(to: time)
        driver.measured { driver.run() }
    }
    let (there, back) = (sender.frames, receiver.frames)
    sender.frames = []
    receiver.frames = []
    receiver.measured { receiver.receive(there) }
    sender.measured { sender.receive(back) }
}

for round in 1...40 { exchange(UInt64(round) * 50) }
for driver in [sender, receiver] { (driver.spent, driver.framesSent, driver.bytesSent) = (0, 0, 0) }
var time: UInt64 = 2000
while sender.end < total {
    time += 1
    sender.measured { sender.post(1000, names, payload) }
    exchange(time)
}
while receiver.arrived < sender.end {
    time += 1
    guard time < UInt64(total) + 100_000 else { fatalError("\(sender.end) posted, \(receiver.arrived) arrived") }
    exchange(time)
}
let each = [sender, receiver].map { String(Double($0.spent * 10 / $0.end) / 10) }
print(
    "\(receiver.arrived) notifications of \(size) bytes, \(names.count) names: sender \(each[0]) ns, "
        + "receiver \(each[1]) ns; \(sender.bytesSent / receiver.arrived) bytes each, "
        + "\(receiver.arrived / sender.framesSent) a frame, \(receiver.framesSent) frames back")

// A comparison: one center has values that the other one lacks.
struct Keeper {
    var center: SimulatedCenter
    var core: RelayCore
    var frames: [[UInt8]] = []
    var spent: UInt64 = 0
    let limits = LinkLimits()

    init(number: UInt64, values: Int) {
        center = SimulatedCenter(origin: Origin(incarnation: number, host: "host", center: "center"), slots: 1 << 20)
        for value in 0..<values {
            center.post(
                LinkName("com.example.value.\(value)"), Content(postedAt: 1_000_000_000, payload: [1, 2, 3]),
                isRetained: true, isCleared: false, relayed: nil)
        }
        core = RelayCore(
            center: center.origin, slots: 1 << 20,
            links: [LinkConfiguration(name: "figures", sends: .all, accepts: .all)], position: 0)
        core.connected(0, session: number + 7)
        center.read(&core, date: 0, ownAreRead: false)
        core.refresh(center.retained(&core), date: 0)
    }

    mutating func run(_ time: UInt64, _ received: [[UInt8]]) {
        let start = nanoseconds()
        core.advance(to: time)
        for bytes in received { core.received(FrameCoding.decode(bytes, limits: limits)!, link: 0) }
        while let output = core.next(center) {
            switch output {
            case .dialog: break
            case .store: core.stored()
            case .send(_, let frame): frames.append(FrameCoding.encode(frame))
            case .post(let post):
                core.posted(
                    at: center.post(
                        core.name(post.name), post.content, isRetained: post.isRetained, isCleared: post.isCleared,
                        relayed: post.relayed))
            }
        }
        core.readThrough(center.end)
        spent += nanoseconds() - start
    }
}

let valueCount = 20_000
var (full, empty) = (Keeper(number: 3, values: valueCount), Keeper(number: 4, values: 0))
var rounds: UInt64 = 0
while empty.center.values.count < valueCount {
    rounds += 1
    guard rounds < 10_000 else { fatalError("only \(empty.center.values.count) values") }
    let (there, back) = (full.frames, empty.frames)
    full.frames = []
    empty.frames = []
    full.run(rounds, back)
    empty.run(rounds, there)
}
print(
    "a comparison of \(valueCount) values: \(full.spent / UInt64(valueCount)) ns each here, "
        + "\(empty.spent / UInt64(valueCount)) ns there, \(rounds) turns of frames")
