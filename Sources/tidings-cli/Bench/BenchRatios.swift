// The command `tidings bench ratios`, which is `tidings bench` without a subcommand.
import ArgumentParser
import Foundation

struct BenchRatios: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ratios",
        abstract: "Compare the time of each operation with the machine's limit, in ten seconds.",
        discussion: """
            Each row compares a time with its limit: the time that processor and kernel need for the same work without \
            a library. Both are measured alternately, on two processors (the second and third, if there are three), in \
            a temporary directory. A run takes about ten seconds. Run it on an idle machine: it reports if the limits \
            themselves were unsteady. Benchmarks/README.md describes the rows.

              tidings bench
              tidings bench --json | jq '{row, ratio}'
            """)

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Option(help: ArgumentHelp("The number of rounds. Each round measures the limit and Tidings.", visibility: .hidden))
    var rounds = 9

    @Option(help: ArgumentHelp("Divide the number of samples by this number: for tests.", visibility: .hidden))
    var shorter = 1

    @Flag(help: ArgumentHelp("Start the second process, then wait for a signal: for tests.", visibility: .hidden))
    var hold = false

    func validate() throws {
        guard rounds >= 1, shorter >= 1 else { throw ValidationError("--rounds and --shorter must be at least 1.") }
    }

    func run() throws {
        BenchBuild.report()
        let stage = try BenchStage()
        defer { stage.tearDown() }
        let machine = try BenchMachine(stage: stage, rounds: rounds, shorter: shorter)
        if hold { try machine.hold() }
        let table = BenchTable(machine, json: json)
        try table.printHead()
        for row in BenchRow.all where machine.isPair || !row.needsTwo { try table.show(try row.measure(on: machine)) }
        try table.printFoot(leftOut: machine.isPair ? [] : BenchRow.all.filter(\.needsTwo))
    }
}
