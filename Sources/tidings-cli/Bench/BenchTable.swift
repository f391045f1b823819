import Foundation

/// The result of a row. Times are in nanoseconds: `ours` and `limit` are medians of the rounds' medians, `p99` is of
/// all samples.
struct BenchResult: Encodable {
    let row: String
    let ours, p99, limit: Double
    /// The ratio of this library's time to the limit's; for throughput, of the limit's time to this library's.
    ///
    /// It is the median of the rounds' ratios, so that a machine that slows down for a while slows down both sides.
    let ratio: Double
    /// The ratio of the limit's greatest round to its least.
    let limitSpread: Double
    private let title, limitTitle: String

    private enum CodingKeys: String, CodingKey {
        case row, ours, p99, limit, ratio, limitSpread
    }

    init(_ row: BenchRow, limits: [[UInt64]], ours: [[UInt64]]) {
        func nanoseconds(_ samples: [UInt64], at part: Double) -> Double {
            let sorted = samples.sorted()
            return sorted.isEmpty ? 0 : Double(sorted[min(Int(part * Double(sorted.count)), sorted.count - 1)]) / 1000
        }
        func middle(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }
        let limitFigures = limits.map { nanoseconds($0, at: 0.5) }
        let ourFigures = ours.map { nanoseconds($0, at: 0.5) }
        let ratio = middle(zip(ourFigures, limitFigures).map { $0 / max($1, 0.001) })
        self.row = row.id
        title = row.title
        limitTitle = row.limitTitle
        self.ours = middle(ourFigures)
        p99 = nanoseconds(ours.flatMap { $0 }, at: 0.99)
        limit = middle(limitFigures)
        self.ratio = row.isThroughput ? 1 / max(ratio, 0.001) : ratio
        limitSpread = (limitFigures.max() ?? 0) / max(limitFigures.min() ?? 0, 0.001)
    }

    /// With a greater spread, the limit depends more on the other load of the machine.
    var isSteady: Bool { limitSpread < 1.25 }

    var cells: [String] {
        [
            title, time(ours), time(p99), "\(time(limit))\(isSteady ? " " : "~")", limitTitle,
            String(format: ratio < 10 ? "%.2f ×" : "%.0f ×", ratio),
        ]
    }

    private func time(_ nanoseconds: Double) -> String {
        nanoseconds < 1000
            ? String(format: nanoseconds < 100 ? "%.1f ns" : "%.0f ns", nanoseconds)
            : String(format: "%.2f µs", nanoseconds / 1000)
    }
}

/// Prints each result when it is measured.
final class BenchTable {
    private let machine: BenchMachine
    private let json: Bool
    private var unsteady: [Double] = []
    private let started = Date()
    private let widths = [46, 9, 9, 10, 21, 7]

    init(_ machine: BenchMachine, json: Bool) {
        self.machine = machine
        self.json = json
    }

    func printHead() throws {
        guard !json else { return }
        try Terminal.print("\(Self.machineName)\n")
        try line(["", "Tidings", "p99", "limit ", "which is", "ratio"])
    }

    func show(_ result: BenchResult) throws {
        if !result.isSteady { unsteady.append(result.limitSpread) }
        guard !json else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return try Terminal.print(String(decoding: try encoder.encode(result), as: UTF8.self))
        }
        try line(result.cells)
    }

    func printFoot(leftOut: [BenchRow]) throws {
        let warning = unsteady.max().map { most in
            """
            UNSTEADY: a limit's slowest round took \(String(format: "%.1f", most)) times as long as its fastest \
            (marked ~). The ratios may be wrong; run it again on an idle machine.
            """
        }
        let missing = leftOut.map(\.title).joined(separator: "; ")
        guard !json else {
            // With --json, standard output has only the objects.
            if let warning { Terminal.note(warning) }
            if !missing.isEmpty { Terminal.note("only one processor; not measured: \(missing)") }
            return
        }
        let seconds = String(format: "%.0f s", Date().timeIntervalSince(started))
        try Terminal.print("")
        if !missing.isEmpty {
            try Terminal.print("Only one processor. Not measured, because both processes must run at once: \(missing).")
        }
        if let warning { try Terminal.print(warning) }
        try Terminal.print(
            """
            Median of \(counted(machine.rounds, "round")), limit and Tidings measured alternately, in \(seconds). \
            Ratio: the time of Tidings divided by the limit; in the lossless row, its throughput divided by the \
            limit's.
            """)
    }

    private func line(_ cells: [String]) throws {
        let padded = zip(cells.indices, cells).map { index, cell in
            index == 0 || index == 4 ? cell.padded(to: widths[index]) : cell.aligned(to: widths[index])
        }
        try Terminal.print(padded.joined(separator: "  "))
    }

    private static var machineName: String {
        var kernel = utsname()
        uname(&kernel)
        let release = withUnsafeBytes(of: kernel.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let description = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = description.split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":", maxSplits: 1).last.map { $0.trimmingCharacters(in: .whitespaces) }
        let count = ProcessInfo.processInfo.activeProcessorCount
        return "\(model?.printable ?? "Processor unknown"), \(counted(count, "processor")), Linux \(release.printable)"
    }
}
