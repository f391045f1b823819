import Foundation

/// A column of a table of `tidings top`.
struct TopColumn<Row> {
    let title: String
    let width: Int
    /// Columns with the highest number are left out first if the screen is narrow. 0: never.
    let rank: Int
    /// Whether it is text: at the left, and sorted from A on. The first such column takes the rest of the width.
    var isText = false
    let cell: (Row) -> (text: String, style: TopLine.Style)
    /// Numbers are sorted from the greatest on, texts by `cell`.
    var value: (Row) -> Double = { _ in 0 }

    /// Whether the first row comes before the second one; `nil`: they are equal in this column.
    func isBefore(_ one: Row, _ other: Row) -> Bool? {
        if isText {
            let (first, second) = (cell(one).text, cell(other).text)
            return first == second ? nil : first < second
        }
        let (first, second) = (value(one), value(other))
        return first == second ? nil : first > second
    }
}

enum TopColumns {
    /// The title of the column that both tables are sorted by at first.
    static let posts = "POSTS/S"

    static var names: [TopColumn<TopReport.Name>] {
        [
            TopColumn(title: "NAME", width: 8, rank: 0, isText: true) {
                ($0.name, $0.isPrefix ? .dim : .plain)
            },
            rate(posts, rank: 0) { $0.postsPerSecond },
            amount("BYTES/S", rank: 2) { $0.bytesPerSecond },
            rate("DELIV/S", rank: 1) { $0.deliveriesPerSecond },
            number("OBSERVERS", width: 9, rank: 3) { $0.observers },
            TopColumn(
                title: "VALUE", width: 5, rank: 4, cell: { ($0.isRetained ? "yes" : "", .plain) },
                value: { $0.isRetained ? 1 : 0 }),
        ]
    }

    static var processes: [TopColumn<TopReport.Process>] {
        [
            number("PID", width: 7, rank: 4, isGrouped: false) { Int($0.pid) },
            TopColumn(title: "PROCESS", width: 8, rank: 0, isText: true) { process in
                let name = process.executable.isEmpty ? "?" : process.executable
                return (name + (process.role.map { ": " + $0 } ?? ""), process.isOwn ? .dim : .plain)
            },
            TopColumn(
                title: "STATE", width: 7, rank: 1, cell: { ($0.activity.rawValue, style(of: $0.activity)) },
                value: { Double(severity(of: $0.activity)) }),
            rate(posts, rank: 0) { $0.postsPerSecond },
            amount("BYTES/S", rank: 6) { $0.bytesPerSecond },
            TopColumn(
                title: "OBS/LOSSL", width: 9, rank: 5,
                cell: { ("\($0.observers)/\($0.observersLossless)", .plain) }, value: { Double($0.observers) }),
            TopColumn(
                title: "BEHIND", width: 7, rank: 2,
                cell: { ($0.behind?.grouped ?? "-", $0.activity == .full ? .alarm : .plain) },
                value: { Double($0.behind ?? -1) }),
            TopColumn(
                title: "MISSED/S", width: 8, rank: 3,
                cell: { ($0.missedPerSecond.asRate, $0.missedPerSecond > 0 ? .warning : .plain) },
                value: { $0.missedPerSecond }),
            amount("HELD", rank: 8) { Double($0.memoryHeld) },
            TopColumn(
                title: "CPU%", width: 5, rank: 7,
                cell: { ($0.processors.map { String(format: "%.0f", $0 * 100) } ?? "-", .plain) },
                value: { $0.processors ?? -1 }),
        ]
    }

    private static func rate<Row>(_ title: String, rank: Int, _ value: @escaping (Row) -> Double) -> TopColumn<Row> {
        TopColumn(title: title, width: 8, rank: rank, cell: { (value($0).asRate, .plain) }, value: value)
    }

    private static func amount<Row>(_ title: String, rank: Int, _ value: @escaping (Row) -> Double) -> TopColumn<Row> {
        TopColumn(title: title, width: 10, rank: rank, cell: { (value($0).asAmount, .plain) }, value: value)
    }

    private static func number<Row>(
        _ title: String, width: Int, rank: Int, isGrouped: Bool = true, _ value: @escaping (Row) -> Int
    ) -> TopColumn<Row> {
        TopColumn(
            title: title, width: width, rank: rank,
            cell: { (isGrouped ? value($0).grouped : String(value($0)), .plain) }, value: { Double(value($0)) })
    }

    private static func style(of activity: TopReport.Process.Activity) -> TopLine.Style {
        switch activity {
        case .full: .alarm
        case .stopped: .warning
        case .ended, .asleep, .unknown: .dim
        case .running, .alive: .plain
        }
    }

    /// What needs attention comes first.
    private static func severity(of activity: TopReport.Process.Activity) -> Int {
        switch activity {
        case .full: 6
        case .stopped: 5
        case .running: 4
        case .alive: 3
        case .unknown: 2
        case .asleep: 1
        case .ended: 0
        }
    }
}

extension Double {
    /// A number of events for each second in at most six characters: 0, 2.5, 12,345, 123k, 4.56M.
    var asRate: String {
        if self < 0.05 { return "0" }
        if self < 9.95 { return String(format: "%.1f", self) }
        if self < 99_999.5 { return Int(rounded()).grouped }
        for (unit, size) in [("k", 1e3), ("M", 1e6), ("G", 1e9)] where self < 999.5 * size {
            return String(format: self < 9.995 * size ? "%.2f" : self < 99.95 * size ? "%.1f" : "%.0f", self / size)
                + unit
        }
        return ">999G"
    }

    /// A number of bytes; one that no integer holds is shown as the greatest one.
    var asAmount: String { Int(Swift.max(0, Swift.min(self, 1e18))).asBytes }
}
