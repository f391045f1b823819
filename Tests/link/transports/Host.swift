// A relay with a center in memory.

import Foundation
import TidingsLink
import TidingsRelay

@Sendable func nanoseconds() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

typealias TransportMaker = (@escaping @Sendable (LinkEvent) -> Void) throws -> any LinkTransport

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

    private let makeTransport: TransportMaker

    /// - Parameter makeTransport: makes this side's end of the link.
    init(
        _ number: UInt64, slots: UInt64 = 1 << 16, limits: LinkLimits = LinkLimits(),
        makeTransport: @escaping TransportMaker
    ) {
        self.makeTransport = makeTransport
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
        let transport = try makeTransport { [self] event in
            condition.lock()
            events.append(event)
            // The tests wait for the same condition as the relay's thread.
            condition.broadcast()
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
                    if CommandLine.arguments.contains("--trace") { print("\(center.origin.incarnation): connected") }
                    let session = UInt64.random(in: 1 ..< .max)
                    port!.connected(session: session)
                    core!.connected(0, session: session)
                case .disconnected(let why):
                    if CommandLine.arguments.contains("--trace") { print("\(center.origin.incarnation): \(why)") }
                    core!.disconnected(0)
                case .received(let bytes):
                    if let frame = port!.frame(from: bytes) { core!.received(frame, link: 0) }
                }
            }
            events.removeAll(keepingCapacity: true)
            center.read(&core!, date: 0, ownAreRead: false)
            var isBusy = false
            // As the relay's driver does.
            if !port!.isWritable {
                isBusy = port!.resume() == .busy
                core!.setWritable(port!.isWritable, link: 0)
            }
            while events.isEmpty, let output = core!.next(center) {
                switch output {
                case .dialog: break
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
                    isBusy = port!.send(frame) == .busy
                    core!.setWritable(port!.isWritable, link: 0)
                }
            }
            condition.broadcast()
            guard events.isEmpty, !isEnding, core!.cursor == center.end else { continue }
            let now = nanoseconds() / 1_000_000
            let deadline = isBusy ? now + 2 : max(core!.deadline ?? now + 1000, now + 1)
            _ = condition.wait(until: Date(timeIntervalSinceNow: Double(deadline - now) / 1000))
        }
        isDone = true
        condition.broadcast()
        condition.unlock()
    }
}
