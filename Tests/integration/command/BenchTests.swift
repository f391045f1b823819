import CTidingsBench
import Foundation
import Glibc
import Testing

@testable import tidings

/// `tidings bench` measures every row and cleans up. The tests expect no duration.
@Suite(.serialized)
struct BenchTests {
    /// A complete run, as short as possible.
    private static let short = ["bench", "--rounds", "1", "--shorter", "1000"]

    @Test(.timeLimit(.minutes(10)))
    func measuresEveryRowAndLeavesNothing() async throws {
        let directory = try CenterDirectory()
        let bench = try Invocation(Self.short + ["--json"], in: directory)
        expectEqual(await bench.ending(), 0)
        let rows = await bench.output.all().map(object)
        let isPair = Self.processors.count > 1
        let expected = BenchRow.all.filter { isPair || !$0.needsTwo }
        #expect(rows.map { $0["row"] as? String } == expected.map(\.id))
        for row in rows {
            for figure in ["ours", "p99", "limit", "ratio"] {
                #expect((row[figure] as? Double ?? 0) > 0, "\(figure) of \(row)")
            }
        }
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func theTableHasALineForEachRowAndItsLimit() async throws {
        let directory = try CenterDirectory()
        let bench = try Invocation(Self.short, in: directory)
        expectEqual(await bench.ending(), 0)
        let lines = await bench.output.all()
        for row in BenchRow.all where Self.processors.count > 1 || !row.needsTwo {
            #expect(lines.contains { $0.hasPrefix(row.title) && $0.contains(row.limitTitle) }, "\(lines)")
        }
        expectEqual(await Self.others(bench.errors), [])
    }

    /// The lines without the one that reports a debug build.
    private static func others(_ lines: Lines) async -> [String] {
        let lines = await lines.all()
        #expect(lines.contains { $0.contains("swift run -c release tidings bench") } == BenchBuild.isDebug)
        return lines.filter { !$0.contains("this is a debug build") }
    }

    @Test(.timeLimit(.minutes(10)))
    func onOneProcessorItReportsTheRowsThatItSkips() async throws {
        let directory = try CenterDirectory()
        let bench = try Self.onOneProcessor { try Invocation(Self.short + ["--json"], in: directory) }
        expectEqual(await bench.ending(), 0)
        expectEqual(
            await bench.output.all().map { object($0)["row"] as? String },
            BenchRow.all.filter { !$0.needsTwo }.map(\.id))
        let notes = await bench.errors.all()
        for row in BenchRow.all where row.needsTwo { #expect(notes.contains { $0.contains(row.title) }, "\(notes)") }
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [SIGINT, SIGTERM])
    func leavesNothingWhenInterrupted(signal: Int32) async throws {
        let directory = try CenterDirectory()
        let bench = try Invocation(["bench", "--hold"], in: directory)
        _ = await bench.output.first { $0 == "holding" }
        #expect(directory.files.count == 1)
        bench.send(signal)
        expectEqual(await bench.ending(), 1)
        expect(await bench.errors.all()) { lines in lines.contains { $0.contains("interrupted") } }
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func leavesNothingWhenKilled() async throws {
        let directory = try CenterDirectory()
        let bench = try Invocation(["bench", "--hold"], in: directory)
        _ = await bench.output.first { $0 == "holding" }
        bench.send(SIGKILL)
        expectEqual(await bench.ending(), -SIGKILL)
        // The output ends when the child processes have ended too, because they inherited the pipe.
        _ = await bench.errors.all()
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func withoutADirectoryItFailsWithOneLine() async throws {
        let directory = try CenterDirectory()
        try FileManager.default.removeItem(atPath: directory.path)
        let outcome = try await tidings("bench", in: directory)
        #expect(outcome.status == 1)
        #expect(outcome.output == [])
        let errors = outcome.errors.filter { !$0.contains("this is a debug build") }
        #expect(!errors.isEmpty && errors.allSatisfy { $0.contains("can't make") }, "\(outcome.errors)")
    }

    @Test
    func unsteadyLimitsAreMarked() throws {
        let row = try #require(BenchRow.all.first)
        func result(_ limits: [UInt64]) -> BenchResult {
            BenchResult(row, limits: limits.map { [$0, $0, $0] }, ours: limits.map { _ in [300_000] })
        }
        #expect(result([100_000, 110_000, 120_000]).isSteady)
        #expect(!result([100_000, 110_000, 130_000]).isSteady)
        #expect(result([100_000, 100_000, 100_000]).cells.contains("3.00 ×"))
        #expect(result([100_000, 100_000, 150_000]).cells.contains { $0.hasSuffix("~") })
    }

    private static var processors: [Int32] {
        var found = [Int32](repeating: 0, count: 1024)
        return Array(found[..<max(0, Int(bench_cores(&found, 1024)))])
    }

    /// Restricts this thread to one processor. A process that `body` starts inherits the restriction.
    private static func onOneProcessor<Result>(_ body: () throws -> Result) rethrows -> Result {
        let all = processors
        bench_pin(all[0])
        defer { bench_pin_any(all, Int32(all.count)) }
        return try body()
    }
}
