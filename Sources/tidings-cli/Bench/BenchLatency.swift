import ArgumentParser
import CTidingsBench
import Foundation

struct BenchLatency: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "Measure how long a notification and a request take between two real processes.",
        discussion: """
            One process posts at a steady rate, and another one receives: the time from before the post to the \
            receipt, on the clock that all processes of a machine share. A request is measured from the call to the \
            reply. Both are measured with receivers that sleep, and with receivers that spin (awake; this needs two \
            processors).

            Each line has percentiles, and a bar for each power of two. The queue is empty at each post, so a \
            notification waits for no other one.

              tidings bench latency
              tidings bench latency --payload 64,64KiB --rate 10000 --format json
            """)

    @Option(
        help: ArgumentHelp(
            "The sizes of payloads, each from 16 to 1GiB; there is a run for each. Default: 64.", valueName: "sizes"))
    var payload: BenchSizes?

    @Option(help: ArgumentHelp("Posts and requests per second: 1 to 100000.", valueName: "n"))
    var rate = 1000

    @Option(
        help: ArgumentHelp("How long each run takes, from 100ms to 1h. Default: 2s.", valueName: "duration"))
    var duration: Seconds?

    @Option(
        help: """
            pretty, or json: one object per line and run with kind (notification or request), awake, payload, \
            debugBuild, seconds, latency (in nanoseconds) and processes.
            """)
    var format = Centers.Format.pretty

    func validate() throws {
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate must be from 1 to 100000.") }
        guard (0.1...3600).contains(duration?.value ?? 2) else {
            throw ValidationError("--duration must be from 100ms to 1h.")
        }
        try payload?.check()
    }

    func run() throws {
        BenchBuild.report()
        let (seconds, sizes) = (duration?.value ?? 2, payload?.values ?? [64])
        let stage = try BenchStage(limit: (seconds + 60) * 4 * Double(sizes.count))
        defer { stage.tearDown() }
        var processors = [Int32](repeating: 0, count: 1024)
        let isPair = bench_cores(&processors, 1024) > 1
        for size in sizes {
            for kind in Kind.allCases {
                for isAwake in [false, true] where isPair || !isAwake {
                    let load = BenchLoad(
                        roles: kind.roles, size: size, seconds: seconds, spin: isAwake ? Int64(UInt32.max) : 0,
                        gap: 1_000_000_000 / UInt64(rate))
                    let title = "\(kind.rawValue), \(isAwake ? "awake" : "asleep"), \(size.asBytes)"
                    let progress = BenchProgress(title)
                    defer { progress.clear() }
                    let outcome = try load.run(on: stage) { progress.show($0, $1) }
                    progress.clear()
                    let result = Result(
                        kind: kind, awake: isAwake, payload: size, seconds: outcome.seconds,
                        latency: outcome.latency.percentiles, processes: outcome.processes)
                    try Terminal.print(
                        format == .json
                            ? BenchText.json(result) : Self.text(title, result, outcome.latency))
                }
            }
        }
        if !isPair { Terminal.note("only one processor; not measured: two processes that are awake") }
    }

    enum Kind: String, Encodable, CaseIterable {
        case notification, request

        var roles: [BenchWorker.Role] { self == .notification ? [.observer, .poster] : [.server, .caller] }
    }

    private struct Result: Encodable {
        var kind: Kind
        var awake: Bool
        var payload: Int
        var debugBuild = BenchBuild.isDebug
        var seconds: Double
        var latency: BenchHistogram.Percentiles?
        var processes: [BenchLoad.Process]
    }

    private static func text(_ title: String, _ result: Result, _ histogram: BenchHistogram) -> String {
        let measured = counted(Int(clamping: result.latency?.count ?? 0), result.kind.rawValue)
        var lines = [title + ": \(measured) in \(String(format: "%.1f", result.seconds)) s"]
        if let latency = result.latency { lines.append("  \(latency.text)") }
        lines += histogram.bars()
        return (lines + BenchText.processes(result.processes)).joined(separator: "\n")
    }
}
