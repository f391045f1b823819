import ArgumentParser
import Foundation

struct BenchThroughput: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "throughput",
        abstract: "Measure how many notifications real processes post and receive, and what that costs them.",
        discussion: """
            Posters post as fast as they can, in processes of their own, and observers receive in others. For each \
            size of payload: notifications and bytes per second, posted and delivered; how many each observer missed; \
            the latency of one post in 64; and for each process its processor time for each notification.

            An observer that falls a whole ring behind misses notifications, and continues. With --lossless, posters \
            wait for the slowest observer in place of that. The latencies of a stream include the time in the ring: \
            "tidings bench latency" measures without a queue.

              tidings bench throughput
              tidings bench throughput --posters 2 --observers 4 --payload 64,4KiB,1MiB --lossless
              tidings bench throughput --format json | jq .deliveriesPerSecond
            """)

    @Option(help: ArgumentHelp("How many processes post: 1 to 64.", valueName: "n"))
    var posters = 1

    @Option(help: ArgumentHelp("How many processes observe: 0 to 64.", valueName: "n"))
    var observers = 1

    @Option(
        help: ArgumentHelp(
            "The sizes of payloads, each from 16 to 1GiB; there is a run for each. Default: 64.", valueName: "sizes"))
    var payload: BenchSizes?

    @Flag(help: "Hold posters back, so that observers miss nothing.")
    var lossless = false

    @Option(
        help: ArgumentHelp("How long each run takes, from 100ms to 1h. Default: 5s.", valueName: "duration"))
    var duration: Seconds?

    @Option(
        help: """
            pretty, or json: one object per line and run with payload, posters, observers, lossless, debugBuild, \
            seconds, posted, postsPerSecond, bytesPerSecond, delivered, deliveriesPerSecond, missed, latency (in \
            nanoseconds) and processes.
            """)
    var format = Centers.Format.pretty

    func validate() throws {
        guard (1...64).contains(posters) else { throw ValidationError("--posters must be from 1 to 64.") }
        guard (0...64).contains(observers) else { throw ValidationError("--observers must be from 0 to 64.") }
        guard (0.1...3600).contains(duration?.value ?? 5) else {
            throw ValidationError("--duration must be from 100ms to 1h.")
        }
        try payload?.check()
    }

    func run() throws {
        BenchBuild.report()
        let (seconds, sizes) = (duration?.value ?? 5, payload?.values ?? [64])
        let stage = try BenchStage(limit: (seconds + 60) * Double(sizes.count))
        defer { stage.tearDown() }
        for size in sizes {
            let load = BenchLoad(
                roles: Array(repeating: .observer, count: observers) + Array(repeating: .poster, count: posters),
                size: size, seconds: seconds, isLossless: lossless, sampled: 64)
            let progress = BenchProgress("payloads of \(size.asBytes)")
            defer { progress.clear() }
            let outcome = try load.run(on: stage) { progress.show($0, $1) }
            progress.clear()
            let result = Result(load, outcome)
            try Terminal.print(format == .json ? BenchText.json(result) : result.text(outcome.latency))
        }
    }

    private struct Result: Encodable {
        var payload: Int
        var posters, observers: Int
        var lossless: Bool
        var debugBuild = BenchBuild.isDebug
        var seconds: Double
        var posted: UInt64
        var postsPerSecond, bytesPerSecond: Double
        var delivered: UInt64
        var deliveriesPerSecond: Double
        var missed: UInt64
        /// Missing without observers, and if no notification with a time arrived.
        var latency: BenchHistogram.Percentiles?
        var processes: [BenchLoad.Process]

        init(_ load: BenchLoad, _ outcome: BenchLoad.Outcome) {
            payload = load.size
            posters = load.roles.count(where: { $0 == .poster })
            observers = load.roles.count(where: { $0 == .observer })
            lossless = load.isLossless
            seconds = outcome.seconds
            posted = UInt64(outcome.sum(.poster) { Double($0.notifications) })
            postsPerSecond = outcome.sum(.poster) { $0.perSecond }
            bytesPerSecond = postsPerSecond * Double(load.size)
            delivered = UInt64(outcome.sum(.observer) { Double($0.notifications) })
            deliveriesPerSecond = outcome.sum(.observer) { $0.perSecond }
            missed = UInt64(outcome.sum(.observer) { Double($0.missed) })
            latency = outcome.latency.percentiles
            processes = outcome.processes
        }

        func text(_ histogram: BenchHistogram) -> String {
            let kind = lossless ? "lossless " : ""
            let roles = "\(counted(posters, "poster")), \(counted(observers, "\(kind)observer"))"
            let head = "\(roles), payloads of \(payload.asBytes), \(String(format: "%.1f", seconds)) s"
            var lines = [
                head,
                "  posted     \(BenchText.rate(postsPerSecond))/s, \(bytesPerSecond.asAmount)/s, "
                    + "\(posted.grouped) in all",
            ]
            if observers > 0 {
                let part = Double(missed) / max(1, Double(missed &+ delivered)) * 100
                lines.append("  delivered  \(BenchText.rate(deliveriesPerSecond))/s, \(delivered.grouped) in all")
                lines.append("  missed     \(missed.grouped) (\(String(format: "%.2f", part)) %)")
            }
            if let latency {
                lines.append("  latency    \(latency.text)")
                lines += histogram.bars()
            }
            return (lines + BenchText.processes(processes)).joined(separator: "\n")
        }
    }
}

/// Texts that the benchmarks with several processes share.
enum BenchText {
    /// With all digits, for comparisons.
    static func rate(_ perSecond: Double) -> String { Int(Swift.min(perSecond, 1e15).rounded()).grouped }

    static func json(_ result: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(result), as: UTF8.self)
    }

    static func processes(_ processes: [BenchLoad.Process]) -> [String] {
        processes.map { process in
            let time = process.processorNanoseconds.map { UInt64($0.rounded()).asDuration }
            let cost = time.map { ", \($0) of processor time each" } ?? ""
            let missed = process.missed > 0 ? ", \(process.missed.grouped) missed" : ""
            let refused = process.refused > 0 ? ", \(counted(Int(clamping: process.refused), "time")) held back" : ""
            return "  \(process.role.rawValue) \(process.pid): \(rate(process.perSecond))/s" + cost + missed + refused
        }
    }
}
