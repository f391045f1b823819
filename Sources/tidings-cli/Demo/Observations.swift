/// What an observer saw of one loop of ticks, held against what it should have seen.
struct TickRun: Codable, Equatable {
    var run: Int64
    var received = 0
    /// What it was told it had missed.
    var missed = 0
    /// Ticks that came twice or too late.
    var disordered = 0
    /// Places where what it was told differs from the gap in the numbers.
    var miscounted = 0
    /// The number it expects next.
    var next: Int64 = 0

    init(run: Int64) {
        self.run = run
    }
}

/// All an observer saw.
struct Observations: Codable {
    /// By kind: the numbers, in the order in which they came. Without those that were retained.
    var numbers: [Kind: [Int]] = [:]
    /// The numbers that came as retained.
    var retained: [Int] = []
    /// Nanoseconds, by kind.
    var latencies: [Kind: [UInt64]] = [:]
    /// By kind: what it was told it had missed.
    var missed: [Kind: Int] = [:]
    var runs: [TickRun] = []
    /// Notifications whose place in the order was not after that of the one before.
    var disordered = 0
    /// Payloads that were not as they had been posted.
    var damaged = 0

    var delivered: Int {
        numbers.values.reduce(0) { $0 + $1.count } + retained.count + runs.reduce(0) { $0 + $1.received }
    }
    var allMissed: Int { missed.values.reduce(0, +) + runs.reduce(0) { $0 + $1.missed } }
    var allDisordered: Int { disordered + runs.reduce(0) { $0 + $1.disordered } }
}

/// Writes down what a process observes. The closures of several observers use it.
final class Notebook: Sendable {
    fileprivate struct Pages {
        var observations = Observations()
        var lastSequence: [Kind?: UInt64] = [:]
        var run: TickRun?
        /// Ticks it was told it had missed, since the last one that came.
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

    /// - Returns: the whole loop, when it has come to its end.
    func note(_ tick: Tick, envelope: Center.Envelope) -> TickRun? {
        pages.withLock { pages in
            pages.checkOrder(of: Kind?.none, envelope)
            return pages.note(tick)
        }
    }
}

extension Notebook.Pages {
    mutating func checkOrder(of kind: Kind?, _ envelope: Center.Envelope) {
        // A retained one is older than what came before its observer registered, and comes first.
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
