import ArgumentParser
import CTidingsBench
import Foundation

/// Measures Tidings against what the machine can do, in one interleaved run.
///
/// Three kinds of process run this program: the one that was started supervises, cleans up, and measures nothing; the
/// runner, its child, is side A of every measurement; peers, the runner's children, are side B.
@main
struct Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidings-benchmarks",
        abstract:
            "Measures Tidings against the limits of this machine, interleaved, and says which requirements are met.",
        subcommands: [Measure.self, Peer.self, Member.self],
        defaultSubcommand: Measure.self
    )
}

struct Measure: ParsableCommand {
    static let configuration = CommandConfiguration(
        discussion: """
            Exit status: 0 all requirements met, 1 something failed, 3 a requirement was missed, 4 none was, but rows \
            were left out that need more processors.
            """)

    @Flag(help: "Fewer and shorter rounds: the whole table in two minutes.")
    var quick = false

    @Option(help: ArgumentHelp("Only rows whose identifier matches.", valueName: "regex"))
    var rows: String?

    @Option(
        help: ArgumentHelp(
            "Measure the series whose identifier matches, and rows only if --rows is given too.", valueName: "regex"))
    var series: String?

    @Option(help: ArgumentHelp("Also write the results there.", valueName: "file"))
    var json: String?

    @Flag(help: "Also what others do: rows rival-…, of those that Benchmarks/Rivals has built.")
    var rivals = false

    @Flag(help: "Print the identifiers of rows and series and end.")
    var list = false

    func validate() throws {
        for (option, text) in [("--rows", rows), ("--series", series)] {
            do {
                _ = try text.map { try Regex($0) }
            } catch {
                throw ValidationError("\(option): \"\(text ?? "")\" is not a regular expression: \(error)")
            }
        }
    }

    func run() throws {
        if list {
            for row in allRows + (rivals ? RivalRows.all : []) { print(row.id) }
            for scale in allScales { print("series \(scale.id)") }
            return
        }
        guard RunDirectory.current != nil else { throw ExitCode(try RunDirectory.supervise()) }
        bench_die_with(getppid())
        let chosen =
            series != nil && rows == nil ? [] : try matching(rows, allRows + (rivals ? RivalRows.there : []), \.id)
        let chosenScales = series == nil ? [] : try matching(series, allScales, \.id)
        let bench = try Bench(quick: quick)
        let results = chosen.isEmpty ? [] : Table.run(chosen, on: bench)
        let scaleResults = ScaleTable.run(chosenScales, on: bench)
        if let json { try Recording(bench, rows: results, series: scaleResults).write(to: json) }
        let verdicts = results.map(\.verdict) + scaleResults.map(\.verdict)
        if verdicts.contains(.failed) { throw ExitCode(1) }
        if verdicts.contains(.missed) { throw ExitCode(3) }
        if verdicts.contains(.leftOut) { throw ExitCode(4) }
    }

    private func matching<Element>(
        _ expression: String?, _ all: [Element], _ id: KeyPath<Element, String>
    ) throws -> [Element] {
        guard let pattern = try expression.map({ try Regex($0) }) else { return all }
        return try all.filter { try pattern.firstMatch(in: $0[keyPath: id]) != nil }
    }
}
