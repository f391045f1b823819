import CTidingsBench
import ChildProcesses
import Foundation
import Glibc
import Testing

@testable import tidings

/// `tidings bench throughput` and `latency`: every notification is accounted for, and nothing is left. The tests expect
/// no speed.
@Suite(.serialized)
struct BenchLoadTests {
    private func run(_ arguments: [String], in directory: CenterDirectory) async throws -> [[String: Any]] {
        let bench = try Invocation(["bench"] + arguments + ["--format", "json"], in: directory)
        expectEqual(await bench.ending(), 0)
        expect(await bench.errors.all()) { lines in
            lines.allSatisfy { $0.contains("debug build") || $0.contains("one processor") }
        }
        // Neither the center nor the board nor their directory.
        #expect(directory.files.isEmpty)
        return await bench.output.all().map { object($0) }
    }

    private func processes(_ role: String, of run: [String: Any]) -> [[String: Any]] {
        (run["processes"] as? [[String: Any]] ?? []).filter { $0["role"] as? String == role }
    }

    /// Fails if a notification is counted twice or not at all, or if a process has the counts of another one.
    @Test(.timeLimit(.minutes(10)), arguments: [false, true])
    func eachNotificationIsDeliveredOrMissed(isLossless: Bool) async throws {
        let directory = try CenterDirectory()
        let runs = try await run(
            ["throughput", "--posters", "2", "--observers", "2", "--payload", "64,4KiB", "--duration", "300ms"]
                + (isLossless ? ["--lossless"] : []), in: directory)
        #expect(runs.map { $0["payload"] as? Int } == [64, 4096])
        for run in runs {
            let posted = run["posted"] as? Int ?? 0
            #expect(posted > 0 && run["lossless"] as? Bool == isLossless, "\(run)")
            let (posters, observers) = (processes("poster", of: run), processes("observer", of: run))
            #expect(posters.count == 2 && observers.count == 2)
            #expect(posters.reduce(0) { $0 + ($1["notifications"] as? Int ?? 0) } == posted)
            for observer in observers {
                let (delivered, missed) = (observer["notifications"] as? Int ?? 0, observer["missed"] as? Int ?? -1)
                #expect(delivered + missed == posted, "\(observer) of \(posted)")
                if isLossless { #expect(missed == 0, "\(observer)") }
            }
            #expect(run["debugBuild"] as? Bool == BenchBuild.isDebug)
            for figure in ["postsPerSecond", "bytesPerSecond", "seconds"] {
                #expect((run[figure] as? Double ?? 0) > 0, "\(figure) of \(run)")
            }
            #expect(Set(posters.compactMap { $0["pid"] as? Int }).count == 2)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func postersNeedNoObserver() async throws {
        let runs = try await run(
            ["throughput", "--observers", "0", "--duration", "100ms"], in: CenterDirectory())
        let run = runs.first ?? [:]
        #expect((run["posted"] as? Int ?? 0) > 0 && run["delivered"] as? Int == 0 && run["latency"] == nil)
    }

    @Test(.timeLimit(.minutes(10)))
    func latencyHasARunForEachKind() async throws {
        var processors = [Int32](repeating: 0, count: 1024)
        let isPair = bench_cores(&processors, 1024) > 1
        let runs = try await run(["latency", "--duration", "200ms", "--rate", "500"], in: CenterDirectory())
        let states = isPair ? [false, true] : [false]
        let kinds = ["notification", "request"].flatMap { kind in states.map { (kind, $0) } }
        #expect(runs.map { $0["kind"] as? String } == kinds.map(\.0))
        #expect(runs.map { $0["awake"] as? Bool } == kinds.map(\.1))
        for run in runs {
            let latency = run["latency"] as? [String: Any] ?? [:]
            let values = ["p50", "p90", "p99", "p999", "p9999", "max"].map { latency[$0] as? Int ?? -1 }
            #expect(values[0] > 0 && values == values.sorted(), "\(run)")
            #expect(latency["count"] as? Int ?? 0 > 0)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func printsTextWithAHistogram() async throws {
        let directory = try CenterDirectory()
        let bench = try await tidings("bench", "throughput", "--duration", "100ms", in: directory)
        #expect(bench.status == 0)
        for beginning in [
            "1 poster, 1 observer, payloads of 64 bytes", "  posted ", "  delivered ", "  missed ", "  poster ",
        ] {
            #expect(bench.output.contains { $0.hasPrefix(beginning) }, "\(beginning): \(bench.output)")
        }
        // Progress is for terminals.
        #expect(!(bench.output + bench.errors).joined().contains("\r"))
    }

    /// Fails if a process or a file outlives a benchmark that was interrupted or killed.
    @Test(.timeLimit(.minutes(10)), arguments: [SIGINT, SIGTERM, SIGKILL])
    func leavesNothingWhenItEndsEarly(signal: Int32) async throws {
        let directory = try CenterDirectory()
        let bench = try Invocation(["bench", "throughput", "--posters", "2", "--duration", "1h"], in: directory)
        // The center is there when the processes start.
        while !directory.files.contains(where: { name in
            let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/\(name)")) ?? []
            return files.contains { $0.hasSuffix(".board") }
        }) { usleep(1000) }
        bench.send(signal)
        expectEqual(await bench.ending(), signal == SIGKILL ? -SIGKILL : 1)
        // The output ends when all processes that inherited it have ended.
        _ = await bench.errors.all()
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func endsWithTheProgramThatReads() async throws {
        let directory = try CenterDirectory()
        let pipe = try PipeEnds()
        close(pipe.reading)
        let bench = try Invocation(
            ["bench", "throughput", "--payload", "64,128", "--duration", "100ms"], in: directory, output: pipe.writing)
        close(pipe.writing)
        expectEqual(await bench.ending(), 0)
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func refusesWhatItCantMeasure() async throws {
        let directory = try CenterDirectory()
        for arguments in [
            ["throughput", "--posters", "0"], ["throughput", "--observers", "65"], ["throughput", "--payload", "15"],
            ["throughput", "--payload", "64,"], ["throughput", "--payload", "2GiB"],
            ["throughput", "--duration", "0s"],
            ["latency", "--rate", "0"], ["latency", "--duration", "2h"], ["nonsense"],
        ] {
            let bench = try Invocation(["bench"] + arguments, in: directory)
            expectEqual(await bench.ending(), 64, "\(arguments)")
        }
        #expect(directory.files.isEmpty)
    }

    // MARK: Values

    /// Fails if a duration is more than 1/64 off, or if a percentile is that of another rank.
    @Test
    func histogramsKeepDurations() throws {
        for value: UInt64 in [0, 1, 127, 128, 129, 255, 256, 1000, 4097, 123_456_789, (1 << 41) - 1] {
            let histogram = try BenchHistogram()
            histogram.add(value)
            #expect(bench_histogram_at(histogram.histogram, 0.5) == value)
            // The longest is kept exactly; others within their count.
            histogram.add(1 << 41)
            let kept = bench_histogram_at(histogram.histogram, 0.5)
            #expect(kept >= value && kept <= value + value / 64, "\(value): \(kept)")
        }
        let histogram = try BenchHistogram()
        #expect(histogram.percentiles == nil && histogram.bars().isEmpty)
        for value in 1...100 as ClosedRange<UInt64> { histogram.add(value) }
        let percentiles = try #require(histogram.percentiles)
        #expect(percentiles.p50 == 50 && percentiles.p90 == 90 && percentiles.p99 == 99 && percentiles.max == 100)
        #expect(bench_histogram_below(histogram.histogram, 64) == 63)
        histogram.add(.max)
        #expect(histogram.percentiles?.max == .max && histogram.count == 101)
        let sum = try BenchHistogram()
        for _ in 0..<2 { bench_histogram_merge(sum.histogram, histogram.histogram) }
        #expect(sum.count == 202 && sum.percentiles?.p50 == 51 && sum.percentiles?.max == .max)
    }

    @Test
    func barsHaveEachDuration() throws {
        let histogram = try BenchHistogram()
        for value in [3, 5, 6, 7, 100_000] as [UInt64] { histogram.add(value) }
        let bars = histogram.bars(most: 3, width: 10)
        #expect(bars.count == 3)
        #expect(bars[0].contains("< 4 ns") && bars[0].contains("20.00 %"))
        #expect(bars[1].contains("< 8 ns") && bars[1].contains("██████████") && bars[1].contains("60.00 %"))
        #expect(bars[2].contains("more") && bars[2].contains("20.00 %"))
        let one = try BenchHistogram()
        one.add(.max)
        #expect(one.bars().count == 1)
    }

    @Test(
        arguments: [
            (0, "0 ns"), (999, "999 ns"), (4100, "4.10 µs"), (12_340_000, "12.3 ms"), (1_500_000_000, "1.50 s"),
        ] as [(UInt64, String)])
    func durationsAreShort(nanoseconds: UInt64, text: String) {
        #expect(nanoseconds.asDuration == text)
    }

    @Test
    func readsSizes() {
        #expect(BenchSizes(argument: "64,4KiB,1MiB")?.values == [64, 4096, 1 << 20])
        for text in ["", ",", "64,", "x", "64;32", "-1", "0"] { #expect(BenchSizes(argument: text) == nil, "\(text)") }
    }
}
