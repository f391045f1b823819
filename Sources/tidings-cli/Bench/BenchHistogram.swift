import CTidingsBench
import Foundation

/// Durations that were measured.
final class BenchHistogram {
    let histogram: OpaquePointer

    init() throws {
        var made: OpaquePointer?
        try check(bench_histogram_create(&made), "can't keep durations")
        histogram = made!
    }

    deinit {
        bench_histogram_free(histogram)
    }

    func add(_ nanoseconds: UInt64) { bench_histogram_add(histogram, nanoseconds) }

    var count: UInt64 { bench_histogram_total(histogram) }

    /// - Returns: in nanoseconds; `nil`: there are none.
    var percentiles: Percentiles? {
        guard count > 0 else { return nil }
        func at(_ part: Double) -> UInt64 { bench_histogram_at(histogram, part) }
        return Percentiles(
            p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), p9999: at(0.9999),
            max: bench_histogram_most(histogram), count: count)
    }

    struct Percentiles: Encodable, Equatable {
        var p50, p90, p99, p999, p9999, max: UInt64
        var count: UInt64

        var text: String {
            let parts = [("p50", p50), ("p90", p90), ("p99", p99), ("p99.9", p999), ("p99.99", p9999), ("max", max)]
            return parts.map { "\($0.0) \($0.1.asDuration)" }.joined(separator: "  ")
        }
    }

    /// A bar for each power of two from the shortest to the longest duration, at most so many: the others are together
    /// in the last one.
    func bars(most: Int = 12, width: Int = 40) -> [String] {
        let count = count
        var rows: [(limit: UInt64?, count: UInt64)] = []
        var (limit, below) = (UInt64(2), UInt64(0))
        // The longest duration that a histogram tells apart is below 2^41 ns.
        while below < count, limit <= 1 << 42 {
            let now = bench_histogram_below(histogram, limit)
            #if MUTANT_BENCH_BAR_LEFT_OUT  // Found by: command barsHaveEachDuration
                if isMutant("BENCH_BAR_LEFT_OUT"), rows.count == most - 1 { break }
            #endif
            if rows.count == most - 1, now < count {
                rows.append((nil, count - below))
                break
            }
            if now > 0 { rows.append((limit, now - below)) }
            (limit, below) = (limit * 2, now)
        }
        let highest = rows.map(\.count).max() ?? 1
        let labels = rows.map { $0.limit.map { "< \($0.asDuration)" } ?? "more" }
        let column = labels.map(\.count).max() ?? 0
        return zip(rows, labels).map { row, label in
            let length = (Double(row.count) / Double(highest) * Double(width)).rounded()
            let bar = String(repeating: "█", count: Int(length))
            let part = String(format: "%.2f %%", Double(row.count) / Double(count) * 100)
            return "  \(label.aligned(to: column))  \(bar.padded(to: width))  \(part.aligned(to: 8))"
        }
    }
}

extension UInt64 {
    /// Nanoseconds as a duration: 812 ns, 4.10 µs, 12.3 ms, 1.50 s.
    var asDuration: String {
        if self < 1000 { return "\(self) ns" }
        let (size, unit) = self < 1_000_000 ? (1e3, "µs") : self < 1_000_000_000 ? (1e6, "ms") : (1e9, "s")
        let number = Double(self) / size
        return String(format: number < 9.995 ? "%.2f" : number < 99.95 ? "%.1f" : "%.0f", number) + " " + unit
    }
}
