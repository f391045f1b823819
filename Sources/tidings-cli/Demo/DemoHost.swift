import Foundation
import Tidings

/// The demo's host: posts, listens to what its extensions answer, and knows what they should have heard.
final class DemoHost {
    let stage: DemoStage
    let inbox = Inbox()
    let notebook = Notebook()
    private let ownRuns = Inbox()
    private var tokens: [Center.ObservationToken] = []

    /// Extensions that run, by name.
    private(set) var extensions: [(name: String, process: ChildProcess)] = []
    /// The numbers posted of each kind.
    private(set) var posted: [Kind: [Int]] = [:]
    /// For each extension: how many of each kind were posted before it registered.
    private(set) var before: [String: [Kind: Int]] = [:]
    /// How many ticks each loop posted: at least, and at most (a poster that was killed may have posted one more than it told).
    private(set) var ticks: [Int64: ClosedRange<Int>] = [:]
    private(set) var reports: [String: Observations] = [:]

    var center: Center { stage.center }

    init(stage: DemoStage) throws {
        self.stage = stage
        let inbox = inbox
        let notebook = notebook
        let ownRuns = ownRuns
        // Each is waited for, and on a busy machine a poster's loop may go once around the ring before this process gets to run.
        try center.addObserver(for: Answer.self, lossless: true) { answer in inbox.put(answer) }.store(in: &tokens)
        try center.addObserver(for: Tick.self, onMissed: { notebook.noteMissedTicks($0) }) { tick, envelope in
            guard let run = notebook.note(tick, envelope: envelope) else { return }
            ownRuns.put(Answer(observer: "host", pid: getpid(), what: .ticked(run)))
        }.store(in: &tokens)
    }

    /// Starts an extension and waits until it has registered.
    func start(_ name: String) throws -> ChildProcess {
        stage.activity.withLock { $0 = "waiting for \(name) to register" }
        let process = try stage.start(name, ["demo-extension", center.name, name])
        extensions.removeAll { $0.name == name }
        extensions.append((name, process))
        extensions.sort { $0.name < $1.name }
        try inbox.take(from: name, on: stage) { if case .registered = $0 { () } else { nil } }
        before[name] = posted.mapValues(\.count)
        return process
    }

    /// Kills an extension, and returns when it is dead.
    func kill(_ name: String) throws {
        guard let index = extensions.firstIndex(where: { $0.name == name }) else { return }
        let process = extensions.remove(at: index).process
        process.send(SIGKILL)
        stage.forget(process)
        let ending = process.waitUntilEnded()
        guard ending == .killed(signal: SIGKILL) else { throw Failure("\(name) \(ending) instead of being killed") }
    }

    func process(of name: String) -> ChildProcess? {
        extensions.first { $0.name == name }?.process
    }

    /// Posts one, and waits until every extension that runs has heard it.
    ///
    /// - Returns: the latencies in nanoseconds, by extension.
    @discardableResult
    func post(_ kind: Kind, _ message: (Int) throws -> Void) throws -> [String: UInt64] {
        let number = posted[kind, default: []].count
        stage.activity.withLock { $0 = "waiting for \(kind) \(number) to be heard" }
        try message(number)
        posted[kind, default: []].append(number)
        var latencies: [String: UInt64] = [:]
        for (name, _) in extensions { latencies[name] = try heard(kind, number, by: name) }
        return latencies
    }

    /// Waits until an extension has heard it.
    func heard(_ kind: Kind, _ number: Int, by name: String) throws -> UInt64 {
        try inbox.take(from: name, on: stage) {
            guard case .heard(kind, number, let nanoseconds) = $0 else { return nil }
            return nanoseconds
        }
    }

    /// Posts a loop of ticks, only as fast as that extension hears them.
    func postTicks(_ count: Int, run: Int64, heardBy name: String) throws {
        stage.activity.withLock { $0 = "waiting for \(name) to hear loop \(run)" }
        for number in 1...Int64(count) {
            let wantsAnswer = number.isMultiple(of: 256)
            try center.post(Tick(run: run, number: number - 1, mark: wantsAnswer ? 1 : 0))
            guard wantsAnswer else { continue }
            try inbox.take(from: name, on: stage) { if case .reached(number - 1) = $0 { () } else { nil } }
        }
    }

    /// Says that a loop of ticks has ended, and waits until everybody has heard all of it.
    ///
    /// - Returns: what the host and each extension saw of it.
    func end(_ run: Int64, posted count: ClosedRange<Int>) throws -> [(name: String, run: TickRun)] {
        stage.activity.withLock { $0 = "waiting for the end of loop \(run) to be heard" }
        ticks[run] = count
        try center.post(Tick.end(of: run))
        let find = { (what: Answer.What) -> TickRun? in if case .ticked(let found) = what { found } else { nil } }
        var runs = [("host", try ownRuns.take(from: "host", on: stage, find))]
        for (name, _) in extensions { runs.append((name, try inbox.take(from: name, on: stage, find))) }
        return runs
    }

    /// Lets the extensions report and end.
    func finish() throws {
        stage.activity.withLock { $0 = "waiting for the extensions' reports" }
        try center.post(Finished())
        for (name, process) in extensions {
            reports[name] = try inbox.take(from: name, on: stage) { if case .report(let all) = $0 { all } else { nil } }
            stage.forget(process)
            let ending = process.waitUntilEnded()
            guard ending == .exited(0) else { throw Failure("\(name) \(ending)") }
        }
        reports["host"] = notebook.observations
        for token in tokens { token.cancel() }
    }
}
