import Foundation
import Tidings
import TidingsExtensions

/// The demo's host: posts, receives the answers of its extensions, and knows what each extension should have received.
final class DemoHost {
    let stage: DemoStage
    let inbox = Inbox()
    let notebook = Notebook()
    private let ownRuns = Inbox()
    private var tokens: [Center.ObservationToken] = []
    /// An element for each process that may begin to observe.
    private let admissions = AsyncStream.makeStream(of: Void.self)

    /// The extensions that are ready.
    private(set) var extensions: [Extension] = []
    /// The numbers posted of each kind.
    private(set) var posted: [Kind: [Int]] = [:]
    /// For each extension: the number of posts of each kind before it registered.
    private(set) var before: [String: [Kind: Int]] = [:]
    /// For each loop: the least and the greatest number of posted ticks.
    ///
    /// A killed poster may have posted one tick more than it recorded.
    private(set) var ticks: [Int64: ClosedRange<Int>] = [:]
    private(set) var reports: [String: Observations] = [:]

    var center: Center { stage.host.broadcast }

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
            ownRuns.put(Answer(observer: "host", what: .ticked(run)))
        }.store(in: &tokens)
        try blocking { [admissions] in
            try await stage.host.serve(Admission.self) { _, _ in
                for await _ in admissions.stream { break }
                return true
            }
        }
    }

    /// Starts an extension and waits until it observes.
    func start(_ name: String) throws -> Extension {
        stage.activity.withLock { $0 = "waiting for \(name) to be ready" }
        admissions.continuation.yield()
        let one = try stage.launch(
            name, ["demo-extension", name],
            [
                .observes(TrackChanged.self), .posts(Answer.self), .posts(LyricsDied.self), .serves(Lines.self),
                .requests(Admission.self),
            ], restart: .onFailure(backoff: .constant(.zero), limit: 1))
        add(one)
        return one
    }

    private func add(_ one: Extension) {
        before[one.name] = posted.mapValues(\.count)
        extensions.append(one)
        extensions.sort { $0.name < $1.name }
    }

    /// Makes a request that kills the process of an extension while it answers, and returns when the process has
    /// ended. The next process observes after `restart`.
    ///
    /// - Returns: the request, which waits for that process.
    func kill(_ one: Extension) throws -> Task<Lines.Reply, any Error> {
        stage.activity.withLock { $0 = "waiting for the end of \(one.name)" }
        extensions.removeAll { $0 === one }
        let events = one.lifecycle.makeAsyncIterator()
        guard let pid = one.processIdentifier else { throw Failure("extension \(one.name) has ended") }
        let request = Task {
            try await one.request(
                Lines(title: "So What", target: pid), timeout: .seconds(60), options: .init(idempotent: true))
        }
        let ending = try blocking {
            var events = events
            while let event = await events.next() {
                switch event {
                case .exited, .crashed: return event
                default: break
                }
            }
            return Extension.Event.gaveUp
        }
        guard ending == .crashed(signal: SIGKILL) else { throw Failure("\(one.name): \(ending), not SIGKILL") }
        posted[.will, default: []].append(0)
        return request
    }

    /// Lets the next process of a killed extension observe, and waits until it does.
    func restart(_ one: Extension) throws {
        stage.activity.withLock { $0 = "waiting for \(one.name) to be ready again" }
        admissions.continuation.yield()
        let isReady = try blocking {
            for await event in one.lifecycle { if case .ready = event { return true } }
            return false
        }
        guard isReady else { throw Failure("\(one.name) was not started again") }
        add(one)
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
        for one in extensions { latencies[one.name] = try heard(kind, number, by: one) }
        return latencies
    }

    /// Waits until an extension has received the notification, and returns its latency in nanoseconds.
    func heard(_ kind: Kind, _ number: Int, by one: Extension) throws -> UInt64 {
        try inbox.take(from: one.name, running: one) {
            guard case .heard(kind, number, let nanoseconds) = $0 else { return nil }
            return nanoseconds
        }
    }

    /// Posts a loop of ticks, no faster than an extension receives them.
    func postTicks(_ count: Int, run: Int64, heardBy one: Extension) throws {
        stage.activity.withLock { $0 = "waiting until \(one.name) receives loop \(run)" }
        for number in 1...Int64(count) {
            let wantsAnswer = number.isMultiple(of: 256)
            try center.post(Tick(run: run, number: number - 1, mark: wantsAnswer ? 1 : 0))
            guard wantsAnswer else { continue }
            try inbox.take(from: one.name, running: one) { if case .reached(number - 1) = $0 { () } else { nil } }
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
        var runs = [("host", try ownRuns.take(from: "host", find))]
        for one in extensions { runs.append((one.name, try inbox.take(from: one.name, running: one, find))) }
        return runs
    }

    /// Waits until each extension has reported and ended.
    func finish() throws {
        stage.activity.withLock { $0 = "waiting for the extensions' reports" }
        try center.post(Finished())
        for one in extensions {
            let ending = try blocking { await one.lifecycle.reduce(nil) { $1 } }
            guard ending == .exited(status: 0) else { throw Failure("\(one.name): \(ending as Any), not status 0") }
            reports[one.name] = try inbox.take(from: one.name) { if case .report(let all) = $0 { all } else { nil } }
        }
        reports["host"] = notebook.observations
        for token in tokens { token.cancel() }
    }
}
