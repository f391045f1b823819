/// The ticks of one loop that an observer received, compared with the expected ticks.
struct TickRun: Codable, Equatable {
    var run: Int64
    var received = 0
    /// The number of ticks reported as missed.
    var missed = 0
    /// Ticks that came twice or too late.
    var disordered = 0
    /// The number of gaps whose size differs from the reported number of missed ticks.
    var miscounted = 0
    /// The next expected number.
    var next: Int64 = 0

    init(run: Int64) {
        self.run = run
    }
}

/// All notifications that an observer received.
struct Observations: Codable {
    /// By kind: the numbers in order of arrival, without retained ones.
    var numbers: [Kind: [Int]] = [:]
    /// The numbers that arrived as retained.
    var retained: [Int] = []
    /// The latencies by kind, in nanoseconds.
    var latencies: [Kind: [UInt64]] = [:]
    /// By kind: the number of notifications reported as missed.
    var missed: [Kind: Int] = [:]
    var runs: [TickRun] = []
    /// Notifications whose position was not after that of the preceding notification.
    var disordered = 0
    /// Payloads that differed from the posted ones.
    var damaged = 0

    var delivered: Int {
        numbers.values.reduce(0) { $0 + $1.count } + retained.count + runs.reduce(0) { $0 + $1.received }
    }
    var allMissed: Int { missed.values.reduce(0, +) + runs.reduce(0) { $0 + $1.missed } }
    var allDisordered: Int { disordered + runs.reduce(0) { $0 + $1.disordered } }
}

/// Records the notifications that a process observes. The closures of several observers share it.
final class Notebook: Sendable {
    fileprivate struct Pages {
        var observations = Observations()
        var lastSequence: [Kind?: UInt64] = [:]
        var run: TickRun?
        /// Ticks reported as missed since the last received tick.
        var missedTicks = 0
    }

    private let pages = Locked(Pages())

    var observations: Observations { pages.withLock { $0.observations } }

    func note(_ kind: Kind, _ number: Int, latency: UInt64, envelope: Center.Envelope, isIntact: Bool = true) {
        pages.withLock { pages in
            pages.checkOrder(of: kind, envelope)
            if !isIntact { pages.observations.damaged += 1 }
            if envelope.isRetained {
                pages.observations.retained.append(number)
            } else {
                pages.observations.numbers[kind, default: []].append(number)
                pages.observations.latencies[kind, default: []].append(latency)
            }
        }
    }

    func noteMissed(_ count: Int, of kind: Kind) {
        pages.withLock { $0.observations.missed[kind, default: 0] += count }
    }

    func noteMissedTicks(_ count: Int) {
        pages.withLock { $0.missedTicks += count }
    }

    /// - Returns: the whole loop, if this tick ends it.
    func note(_ tick: Tick, envelope: Center.Envelope) -> TickRun? {
        pages.withLock { pages in
            pages.checkOrder(of: Kind?.none, envelope)
            return pages.note(tick)
        }
    }
}

extension Notebook.Pages {
    mutating func checkOrder(of kind: Kind?, _ envelope: Center.Envelope) {
        // A retained notification is older than those that were posted after its observer registered, and arrives
        // first.
        if let last = lastSequence[kind], envelope.sequence <= last { observations.disordered += 1 }
        lastSequence[kind] = envelope.sequence
    }

    mutating func note(_ tick: Tick) -> TickRun? {
        var run = self.run ?? TickRun(run: tick.run)
        if run.run != tick.run { run.disordered += 1 }
        run.missed += missedTicks
        if !tick.isEnd {
            run.received += 1
            if tick.number < run.next {
                run.disordered += 1
            } else if tick.number - run.next != missedTicks {
                run.miscounted += 1
            }
            run.next = max(run.next, tick.number + 1)
        }
        missedTicks = 0
        self.run = tick.isEnd ? nil : run
        guard tick.isEnd else { return nil }
        observations.runs.append(run)
        return run
    }
}
