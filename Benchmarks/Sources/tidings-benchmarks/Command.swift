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
            Exit status: 0 all requirements met, 1 something failed, 3 a requirement was missed, 4 none was, but rows were \
            left out that need more processors.
            """)

    @Flag(help: "Fewer and shorter rounds: the whole table in two minutes.")
    var quick = false

    @Option(help: ArgumentHelp("Only rows whose identifier matches.", valueName: "regex"))
    var rows: String?

    @Option(help: ArgumentHelp("Also write the results there.", valueName: "file"))
    var json: String?

    @Flag(help: "Also what others do: rows rival-…, of those that Benchmarks/Rivals has built.")
    var rivals = false

    @Flag(help: "Print the rows' identifiers and end.")
    var list = false

    func validate() throws {
        do {
            _ = try rows.map { try Regex($0) }
        } catch {
            throw ValidationError("--rows: \"\(rows ?? "")\" is not a regular expression: \(error)")
        }
    }

    func run() throws {
        if list {
            for row in allRows + (rivals ? RivalRows.all : []) { print(row.id) }
            return
        }
        guard RunDirectory.current != nil else { throw ExitCode(try RunDirectory.supervise()) }
        bench_die_with(getppid())
        let pattern = try rows.map { try Regex($0) }
        let chosen = try (allRows + (rivals ? RivalRows.there : [])).filter { row in
            try pattern.map { try $0.firstMatch(in: row.id) != nil } ?? true
        }
        let bench = try Bench(quick: quick)
        let results = Table.run(chosen, on: bench)
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(results).write(to: URL(fileURLWithPath: json))
        }
        if results.contains(where: { $0.verdict == .failed }) { throw ExitCode(1) }
        if results.contains(where: { $0.verdict == .missed }) { throw ExitCode(3) }
        if results.contains(where: { $0.verdict == .leftOut }) { throw ExitCode(4) }
    }
}
