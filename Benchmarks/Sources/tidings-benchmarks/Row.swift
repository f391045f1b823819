/// One line of the table: ours, the limit it is held against, and what is required.
struct Row: Sendable {
    typealias Measurement = () throws -> Round

    let id: String
    let title: String
    let limitTitle: String
    let requirement: Requirement
    /// How many processors it takes. With fewer, the row is left out.
    var processors = 2
    /// Sets up what both measurements need, and hands them to `Table`, which alternates between them.
    let measure:
        @Sendable (Bench, _ alternate: (_ limit: Measurement, _ ours: Measurement) throws -> Void) throws -> Void
}

/// How the two figures must relate.
enum Requirement: Sendable {
    /// Ours at most so many times the limit.
    case ratio(Double, goal: Double? = nil)
    /// As `ratio`, of throughput: at least that part of the limit's.
    case throughput(Double, goal: Double? = nil)
    /// Ours at most so many nanoseconds.
    case nanoseconds(Double, goal: Double? = nil)
    /// Of all samples of ours, the 99th percentile at most so many nanoseconds.
    case p99(Double)
    /// Ours is a count, of that at most so many.
    case count(Double, goal: Double? = nil, of: String)
    /// Ours is a count, and must be 0.
    case zero
    case none
    /// None, of throughput.
    case noThroughput

    var text: String {
        switch self {
        case .ratio(let most, let goal): "≤ \(most.short) ×" + (goal.map { " (goal \($0.short))" } ?? "")
        case .throughput(let least, let goal): "≥ \(least.short) ×" + (goal.map { " (goal \($0.short))" } ?? "")
        case .nanoseconds(let most, let goal): "≤ \(most.short) ns" + (goal.map { " (goal \($0.short))" } ?? "")
        case .p99(let most): "p99 ≤ \(most.short) ns"
        case .count(let most, let goal, let unit):
            "≤ \(most.short) \(unit)" + (goal.map { " (goal \($0.short))" } ?? "")
        case .zero: "0"
        case .none, .noThroughput: "–"
        }
    }

    /// `ratio`: ours to the limit, in time.
    func verdict(ours: Summary, ratio: Double) -> Verdict {
        switch self {
        case .ratio(let most, _): ratio <= most ? .met : .missed
        case .throughput(let least, _): 1 / ratio >= least ? .met : .missed
        case .p99(let most): ours.p99 <= most ? .met : .missed
        case .nanoseconds(let most, _), .count(let most, _, _): ours.median <= most ? .met : .missed
        case .zero: ours.greatest == 0 ? .met : .missed
        case .none, .noThroughput: .information
        }
    }

    /// The ratio as the row prints it.
    func shown(_ ratio: Double) -> Double {
        switch self {
        case .throughput, .noThroughput: 1 / ratio
        default: ratio
        }
    }
}

enum Verdict: String, Codable {
    case met
    case missed = "MISSED"
    case information = "–"
    case failed = "FAILED"
    case leftOut = "left out"
}

extension Double {
    /// Three significant digits or so.
    var short: String {
        if self == rounded(), abs(self) < 1e6 { return String(Int(self)) }
        let places = abs(self) >= 100 ? 0 : abs(self) >= 10 ? 1 : 2
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let value = (self * scale).rounded() / scale
        return places == 0 ? String(Int(value)) : String(value)
    }
}
