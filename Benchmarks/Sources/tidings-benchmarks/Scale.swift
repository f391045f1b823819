import Foundation

/// How figures change with a number: of bytes, names, observers, processes. There is a curve each for ours, limits, and
/// variants.
struct Scale: Sendable {
    let id: String
    let title: String
    /// What the number counts.
    let parameter: String
    /// What the figures are.
    let figure: String
    let curves: [String]
    let values: [Int]
    /// How many processors it takes. With fewer, the series is left out.
    var processors = 2
    /// Sets up what the curves need at one value, and hands over a measurement for each, to be made by turns.
    let measure: @Sendable (Bench, Int, _ alternate: ([Row.Measurement]) throws -> Void) throws -> Void
}

/// What became of a series.
struct ScaleResult: Codable {
    struct Curve: Codable {
        let title: String
        var points: [Point] = []
    }

    struct Point: Codable {
        let value: Int
        let median, p99, least, greatest: Double
    }

    let id: String
    let title: String
    let parameter: String
    let figure: String
    var curves: [Curve]
    var verdict = Verdict.information
    var failure: String?
}

/// Runs series, and prints a line for every value.
enum ScaleTable {
    static func run(_ scales: [Scale], on bench: Bench) -> [ScaleResult] {
        scales.map { scale in
            print("\n\(scale.title): \(scale.figure), at so many \(scale.parameter)")
            line("", scale.curves)
            let result = run(scale, on: bench)
            if let failure = result.failure { print("    \(failure)") }
            fflush(nil)
            return result
        }
    }

    private static func run(_ scale: Scale, on bench: Bench) -> ScaleResult {
        var result = ScaleResult(
            id: scale.id, title: scale.title, parameter: scale.parameter, figure: scale.figure,
            curves: scale.curves.map { ScaleResult.Curve(title: $0) })
        guard bench.processors >= scale.processors else {
            result.verdict = .leftOut
            result.failure = "needs \(scale.processors) processors, may use \(bench.processors)"
            return result
        }
        do {
            for value in scale.values {
                let points = try points(scale, value, on: bench)
                for (index, point) in points.enumerated() { result.curves[index].points.append(point) }
                line(String(value), points.map { "\($0.median.short) (\($0.least.short)–\($0.greatest.short))" })
            }
        } catch {
            alarm(0)
            result.verdict = .failed
            result.failure = "\(error)"
        }
        return result
    }

    private static func points(_ scale: Scale, _ value: Int, on bench: Bench) throws -> [ScaleResult.Point] {
        var rounds = [[Round]](repeating: [], count: scale.curves.count)
        try scale.measure(bench, value) { measurements in
            for _ in 0..<(bench.quick ? 3 : 5) {
                for (index, measurement) in measurements.enumerated() {
                    alarm(60)
                    rounds[index].append(try measurement())
                    alarm(0)
                }
            }
        }
        return rounds.map { rounds in
            let summary = Summary(rounds)
            return ScaleResult.Point(
                value: value, median: summary.median, p99: summary.p99, least: summary.least,
                greatest: summary.greatest)
        }
    }

    private static func line(_ first: String, _ cells: [String]) {
        let padded = cells.map { $0 + String(repeating: " ", count: max(30 - $0.count, 1)) }
        print(String(repeating: " ", count: max(9 - first.count, 0)) + first + "  " + padded.joined(separator: "  "))
        fflush(nil)
    }
}
