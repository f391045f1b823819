import CTidingsBench
import Histogram

/// One round of one measurement. Times are in picoseconds, so that a histogram of integers resolves single nanoseconds.
struct Round {
    /// What the round stands for: the median of its samples.
    let figure: Double
    let histogram: Histogram<UInt64>

    /// `body` fills in samples and returns how many, or a negative errno.
    init(_ what: String, count: Int, _ body: (UnsafeMutablePointer<UInt64>) throws -> Int32) throws {
        let samples = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: count)
        defer { samples.deallocate() }
        samples.initialize(repeating: 0)  // the pages are there before the clock runs
        guard let base = samples.baseAddress else { throw BenchError("no room for \(count) samples") }
        let code = Int(try body(base))
        guard code > 0 else { throw BenchError(code: code, during: what) }
        var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        for sample in samples[..<code] { histogram.record(sample) }
        self.histogram = histogram
        figure = Double(histogram.median)
    }

    /// One sample, which stands for the round.
    init(picoseconds: UInt64) {
        var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        histogram.record(picoseconds)
        self.histogram = histogram
        figure = Double(picoseconds)
    }

    /// A count, not a time: stands for itself.
    init(counted: UInt64) {
        self.init(picoseconds: counted * 1000)
    }
}

/// All rounds of one measurement.
struct Summary: Codable {
    /// Nanoseconds: the median of the rounds' figures, the 99th percentile of all samples, the least and the greatest
    /// figure.
    let median, p99, least, greatest: Double
    /// All samples, at each of `percentiles`.
    let distribution: [Double]

    static let percentiles: [Double] = [0, 1, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.99, 100]

    init(_ rounds: [Round]) {
        let figures = rounds.map { $0.figure / 1000 }
        var all = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        for round in rounds { all.add(round.histogram) }
        median = figures.middle
        p99 = Double(all.valueAtPercentile(99)) / 1000
        // As exact as the histogram is.
        distribution = Self.percentiles.map { (Double(all.valueAtPercentile($0)) / 10).rounded() / 100 }
        least = figures.min() ?? 0
        greatest = figures.max() ?? 0
    }
}

extension [Double] {
    /// The median; of an even number, the greater of the two in the middle.
    var middle: Double { isEmpty ? 0 : sorted()[count / 2] }
}
