import Foundation
import Tidings

/// The demo's host: posts, receives the answers of its extensions, and knows what each extension should have received.
final class DemoHost {
    let stage: DemoStage
    let inbox = Inbox()
    let notebook = Notebook()
    private let ownRuns = Inbox()
    private var tokens: [Center.ObservationToken] = []

    /// The running extensions.
    private(set) var extensions: [(name: String, process: ChildProcess)] = []
    /// The numbers posted of each kind.
    private(set) var posted: [Kind: [Int]] = [:]
    /// For each extension: the number of posts of each kind before it registered.
    private(set) var before: [String: [Kind: Int]] = [:]
    /// For each loop: the least and the greatest number of posted ticks.
    ///
    /// A killed poster may have posted one tick more than it recorded.
    private(set) var ticks: [Int64: ClosedRange<Int>] = [:]
    private(set) var reports: [String: Observations] = [:]

    var center: Center { stage.center }

    init(stage: DemoStage) throws {
        self.stage = stage
        let inbox = inbox
        let notebook = notebook
        let ownRuns = ownRuns
        // Lossless: the host waits for each answer. On a busy machine, a poster's loop may fill the whole ring before
        // this process runs.
        try center.addObserver(for: Answer.self, options: .init(lossless: true)) { answer in inbox.put(answer) }.store(
            in: &tokens)
        try center.addObserver(
            for: Tick.self, options: .init(onMissed: { count, _ in notebook.noteMissedTicks(count) })
        ) { tick, envelope in
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

    /// Kills an extension, and returns when it has ended.
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

    /// Posts a notification, and waits until every running extension has received it.
    ///
    /// - Returns: the latencies in nanoseconds, by extension.
    @discardableResult
    func post(_ kind: Kind, _ message: (Int) throws -> Void) throws -> [String: UInt64] {
        let number = posted[kind, default: []].count
        stage.activity.withLock { $0 = "waiting until each extension receives \(kind) \(number)" }
        try message(number)
        posted[kind, default: []].append(number)
        var latencies: [String: UInt64] = [:]
        for (name, _) in extensions { latencies[name] = try heard(kind, number, by: name) }
        return latencies
    }

    /// Waits until an extension has received the notification, and returns its latency in nanoseconds.
    func heard(_ kind: Kind, _ number: Int, by name: String) throws -> UInt64 {
        try inbox.take(from: name, on: stage) {
            guard case .heard(kind, number, let nanoseconds) = $0 else { return nil }
            return nanoseconds
        }
    }

    /// Posts a loop of ticks, no faster than the named extension receives them.
    func postTicks(_ count: Int, run: Int64, heardBy name: String) throws {
        stage.activity.withLock { $0 = "waiting until \(name) receives loop \(run)" }
        for number in 1...Int64(count) {
            let wantsAnswer = number.isMultiple(of: 256)
            try center.post(Tick(run: run, number: number - 1, mark: wantsAnswer ? 1 : 0))
            guard wantsAnswer else { continue }
            try inbox.take(from: name, on: stage) { if case .reached(number - 1) = $0 { () } else { nil } }
        }
    }

    /// Posts the end of a loop of ticks, and waits until the host and each extension have received the whole loop.
    ///
    /// - Returns: the ticks that the host and each extension received.
    func end(_ run: Int64, posted count: ClosedRange<Int>) throws -> [(name: String, run: TickRun)] {
        stage.activity.withLock { $0 = "waiting until each observer receives the end of loop \(run)" }
        ticks[run] = count
        try center.post(Tick.end(of: run))
        let find = { (what: Answer.What) -> TickRun? in if case .ticked(let found) = what { found } else { nil } }
        var runs = [("host", try ownRuns.take(from: "host", on: stage, find))]
        for (name, _) in extensions { runs.append((name, try inbox.take(from: name, on: stage, find))) }
        return runs
    }

    /// Waits until each extension has reported and ended.
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
