import CTidingsBench
import Foundation

/// What `--json` writes: medians and percentiles, no samples.
struct Recording {
    var machine = Machine()
    /// The day, in UTC.
    let date: String
    let quick: Bool
    let rounds: Int
    /// Where `distribution` was taken.
    var percentiles = Summary.percentiles
    let rows: [RowResult]
    let series: [ScaleResult]

    init(_ bench: Bench, rows: [RowResult], series: [ScaleResult]) {
        let formatter = DateFormatter()
        formatter.dateFormat = "yyyy-MM-dd"
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        date = formatter.string(from: Date())
        quick = bench.quick
        rounds = bench.rounds
        machine.processors = bench.processors
        self.rows = rows
        self.series = series
    }

    /// A line for every row and series, so that two recordings can be compared.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        func line(_ value: some Encodable) throws -> String {
            String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        func lines(_ values: [some Encodable]) throws -> String {
            try "[\n" + values.map { try "    " + line($0) }.joined(separator: ",\n") + "\n]"
        }
        let text = """
            {"date": \(try line(date)), "quick": \(quick), "rounds": \(rounds), "machine": \(try line(machine)),
            "percentiles": \(try line(percentiles)),
            "rows": \(try lines(rows)),
            "series": \(try lines(series))}

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }
}

/// The machine that a recording was made on, without its name.
struct Machine: Codable {
    var processor = "unknown"
    /// How many this run could use.
    var processors = 0
    var isVirtual = false
    var kernel = "unknown"

    init() {
        let info = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        for line in info.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2 else { continue }
            if parts[0] == "model name" { processor = parts[1] }
            if parts[0] == "flags" { isVirtual = parts[1].split(separator: " ").contains("hypervisor") }
        }
        if let release = try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8) {
            kernel = release.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}
