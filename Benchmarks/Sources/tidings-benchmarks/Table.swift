import Foundation

/// What became of a row; also the shape of `--json`.
struct RowResult: Codable {
    let id: String
    let title: String
    let limitTitle: String
    let requirement: String
    var verdict: Verdict
    /// Nanoseconds, or a count where the requirement is 0.
    var ours: Summary?
    var limit: Summary?
    /// Ours to the limit (of throughput where that is required): the median of the rounds' own ratios, so that a
    /// machine that slows down for a while slows down both.
    var ratio: Double?
    /// How many rounds were taken anew, because the core was shared meanwhile; `nil`: it was so too often, and these
    /// count as well.
    var repeated: Int? = 0
    var failure: String?
}

/// Runs rows, limit and ours by turns, and prints each when it is done.
enum Table {
    private static let columns: [(title: String, width: Int)] = [
        ("what", 46), ("ours", 8), ("p99", 8), ("spread", 17), ("limit", 8), ("limit is", 28), ("ratio", 6),
        ("required", 19), ("", 8),
    ]

    static func run(_ rows: [Row], on bench: Bench) -> [RowResult] {
        line(columns.map(\.title))
        line(columns.map { String(repeating: "-", count: $0.width) })
        var results: [RowResult] = []
        var yardstick = Yardstick()
        for row in rows {
            let result = run(row, on: bench, &yardstick)
            results.append(result)
            line([
                row.title, text(result.ours?.median), text(result.ours?.p99),
                result.ours.map { "\(text($0.least))–\(text($0.greatest))" } ?? "", text(result.limit?.median),
                row.limitTitle, result.ratio?.short ?? "", result.requirement, result.verdict.rawValue,
            ])
            if let failure = result.failure { print("    \(failure)") }
        }
        print("\nNanoseconds; ours and limit: median of \(bench.rounds) rounds, taken by turns; p99 of all samples;")
        print("spread: least and greatest round; ratio: median of the rounds' ratios. See Benchmarks/README.md.")
        let (repeated, given) = (results.compactMap(\.repeated).reduce(0, +), results.count { $0.repeated == nil })
        print("\(repeated) rounds were taken anew, as the core was shared; in \(given) rows it was so too often.")
        return results
    }

    private static func run(_ row: Row, on bench: Bench, _ yardstick: inout Yardstick) -> RowResult {
        var result = RowResult(
            id: row.id, title: row.title, limitTitle: row.limitTitle, requirement: row.requirement.text,
            verdict: .failed)
        var rounds: [(limit: Round, ours: Round)] = []
        var shared: [(limit: Round, ours: Round)] = []
        guard bench.processors >= row.processors else {
            result.verdict = .leftOut
            result.failure = "needs \(row.processors) processors, may use \(bench.processors)"
            return result
        }
        do {
            try row.measure(bench) { measureLimit, measureOurs in
                let begin = ContinuousClock.now
                while rounds.count < bench.rounds {
                    // Ends a run whose two sides wait for each other for ever: a timed loop reads no clock.
                    alarm(60)
                    let begunAlone = try yardstick.isAlone()
                    let round = (limit: try measureLimit(), ours: try measureOurs())
                    if try yardstick.isAlone(), begunAlone { rounds.append(round) } else { shared.append(round) }
                    alarm(0)
                    let isLate = ContinuousClock.now - begin > .seconds(8)
                    if isLate, rounds.count + shared.count >= bench.rounds { break }
                }
            }
            result.repeated = rounds.count < bench.rounds ? nil : shared.count
            rounds += shared.prefix(bench.rounds - rounds.count)
            let (limits, ours) = (rounds.map(\.limit), rounds.map(\.ours))
            let series = Summary(ours)
            let ratio = zip(ours, limits).map { $0.figure / $1.figure }.middle
            result.ours = series
            result.limit = Summary(limits)
            result.ratio = ratio.isFinite ? row.requirement.shown(ratio) : nil
            result.verdict = row.requirement.verdict(ours: series, ratio: ratio)
        } catch {
            alarm(0)
            result.failure = "\(error)"
        }
        return result
    }

    private static func text(_ nanoseconds: Double?) -> String { nanoseconds?.short ?? "" }

    private static func line(_ cells: [String]) {
        let padded = zip(cells, columns).map { cell, column in
            cell + String(repeating: " ", count: max(column.width - cell.count, 0))
        }
        print(padded.joined(separator: "  "))
        fflush(nil)
    }
}
