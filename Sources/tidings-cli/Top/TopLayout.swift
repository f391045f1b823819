import Foundation
import Tidings

/// Lays a report out as the lines of a screen. A function of its arguments alone.
struct TopLayout {
    let report: TopReport
    let view: TopView
    let width: Int
    let height: Int

    /// The lines of the screen: exactly `height`, each at most `width` columns.
    private(set) var lines: [TopLine] = []
    /// How many rows of the focused table the screen shows, and how many the table has.
    private(set) var page = 0
    private(set) var rows = 0

    /// The least height of a screen with two tables; lower ones show the focused table.
    private static let twoTables = 12

    init(_ report: TopReport, _ view: TopView, width: Int, height: Int) {
        (self.report, self.view, self.width, self.height) = (report, view, max(1, width), max(1, height))
        lines = head()
        let foot = self.height >= 4 ? 1 : 0
        let body = max(0, self.height - lines.count - foot)
        if self.height >= Self.twoTables {
            // The table without the focus takes at most half of the body; what it does not need, the other one has.
            let other = view.focus == .names ? report.processes.count : report.names.count
            let small = min(other + 1, body / 2)
            let isNamesFirst = view.focus == .names
            appendProcesses(isNamesFirst ? small : body - small)
            appendNames(isNamesFirst ? body - small : small)
        } else if view.focus == .names {
            appendNames(body)
        } else {
            appendProcesses(body)
        }
        while lines.count < self.height - foot { lines.append(TopLine(limit: self.width)) }
        if foot > 0 { lines.append(footer()) }
        lines = Array(lines.prefix(self.height))
    }

    /// One line, or two on a screen with two tables.
    private func head() -> [TopLine] {
        var first = TopLine(limit: width)
        let isEstimate = report.unseen > 0 ? "≈" : ""
        // The most important first: a narrow screen cuts the rest.
        first.append("\(report.postsPerSecond.asRate) posts/s", .bold)
        first.append("  \(isEstimate)\(report.bytesPerSecond.asAmount)/s")
        first.append("  \(isEstimate)\(report.deliveriesPerSecond.asRate) deliveries/s")
        if report.missedPerSecond > 0 { first.append("  \(report.missedPerSecond.asRate) missed/s", .warning) }
        first.append("  center \(report.center)", .dim)
        guard height >= Self.twoTables else { return [first] }
        var second = TopLine(limit: width)
        second.append("\(counted(report.observers, "observer")), \(report.observersAsleep.grouped) asleep")
        second.append(", \(report.observersLossless.grouped) lossless")
        second.append("  \(counted(report.participants, "participant"))")
        second.append("  \(report.chunks.grouped) of \(report.chunkLimit.grouped) chunks")
        second.append("  \(report.memory.asBytes)")
        if report.unseen > 0 { second.append("  not counted: \(report.unseen.grouped)", .warning) }
        return [first, second]
    }

    private func footer() -> TopLine {
        var line = TopLine(limit: width)
        if view.isTyping || !view.filter.isEmpty {
            // Of a long filter, its end is shown, where it grows.
            let room = max(1, width - 2)
            line.append("/" + String(view.filter.suffix(room)), .bold)
            if view.isTyping { line.append("_", .reverse) }
            return line
        }
        if view.isPaused { line.append("PAUSED  ", .warning) }
        line.append("q quit  Tab table  s sort  r reverse  / filter  p pause  ↑↓ scroll", .dim)
        return line
    }

    private mutating func appendNames(_ height: Int) {
        append(report.names, TopColumns.names, view.namesOrder, isFocused: view.focus == .names, height) {
            [$0.name]
        }
    }

    private mutating func appendProcesses(_ height: Int) {
        let isFocused = view.focus == .processes
        append(report.processes, TopColumns.processes, view.processesOrder, isFocused: isFocused, height) {
            [$0.executable, $0.role ?? "", String($0.pid), $0.activity.rawValue]
        }
    }

    private mutating func append<Row>(
        _ all: [Row], _ columns: [TopColumn<Row>], _ order: TopView.Order, isFocused: Bool, _ height: Int,
        texts: (Row) -> [String]
    ) {
        guard height > 0, columns.indices.contains(order.column) else { return }
        let wanted = isFocused ? view.filter.lowercased() : ""
        let chosen = all.filter { row in wanted.isEmpty || texts(row).contains { $0.lowercased().contains(wanted) } }
        let sorted = Self.sorted(chosen, columns[order.column], isReversed: order.isReversed)
        let room = height - 1
        // The last page is full, however far the user has scrolled.
        let start = isFocused ? max(0, min(view.scroll, sorted.count - room)) : 0
        if isFocused { (page, rows) = (room, sorted.count) }
        let shown = Self.fit(columns, in: width)
        lines.append(title(columns, shown, order, isFocused: isFocused))
        for row in sorted.dropFirst(start).prefix(room) {
            var line = TopLine(limit: width)
            for (place, column) in shown {
                let cell = columns[place].cell(row)
                let text = cell.text.printable.clipped(to: column.width)
                if !columns[place].isText { line.pad(to: column.start + column.width - text.columns) }
                line.pad(to: column.start)
                line.append(text, cell.style)
            }
            lines.append(line)
        }
        // Where the other table begins must not depend on the filter.
        let used = 1 + min(room, max(0, sorted.count - start))
        for _ in used..<max(used, height) { lines.append(TopLine(limit: width)) }
    }

    private func title<Row>(
        _ columns: [TopColumn<Row>], _ shown: [(Int, (start: Int, width: Int))], _ order: TopView.Order,
        isFocused: Bool
    ) -> TopLine {
        let style: TopLine.Style = isFocused ? .reverse : .bold
        var line = TopLine(limit: width)
        for (place, column) in shown {
            let isDown = columns[place].isText == order.isReversed
            let mark = place == order.column ? (isDown ? "↓" : "↑") : ""
            // The mark takes the place of the space before, where the title is as wide as its column.
            let text = columns[place].isText ? columns[place].title + mark : mark + columns[place].title
            let start = columns[place].isText ? column.start : column.start + column.width - text.columns
            line.pad(to: start, style)
            line.append(text, style)
        }
        line.pad(to: width, style)
        return line
    }

    /// Rows that are equal in the column keep their order, so that they do not jump.
    private static func sorted<Row>(_ rows: [Row], _ column: TopColumn<Row>, isReversed: Bool) -> [Row] {
        rows.enumerated().sorted { one, other in
            guard let isBefore = column.isBefore(one.element, other.element) else { return one.offset < other.offset }
            return isBefore != isReversed
        }
        .map(\.element)
    }

    /// The columns that fit, with where they begin and how wide they are. The first column of text has what is left.
    private static func fit<Row>(
        _ columns: [TopColumn<Row>], in width: Int
    ) -> [(Int, (start: Int, width: Int))] {
        let gap = 2
        var shown = Array(columns.indices)
        func needed() -> Int { shown.reduce(-gap) { $0 + columns[$1].width + gap } }
        while needed() > width, let out = shown.max(by: { columns[$0].rank < columns[$1].rank }),
            columns[out].rank > 0
        {
            shown.removeAll { $0 == out }
        }
        #if MUTANT_TOP_NARROW_DROPS_POSTS  // Found by: command fitsIn20ColumnsAnd5Lines
            if isMutant("TOP_NARROW_DROPS_POSTS"), width < 30 {
                shown.removeAll { columns[$0].title == TopColumns.posts }
            }
        #endif
        let rest = max(0, width - needed())
        let wide = shown.first { columns[$0].isText }
        var (start, result) = (0, [(Int, (start: Int, width: Int))]())
        for place in shown {
            let own = columns[place].width + (place == wide ? rest : 0)
            result.append((place, (start, own)))
            start += own + gap
        }
        return result
    }
}
