// The command `tidings bench`.
import ArgumentParser
import Foundation

struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure how fast it is on this machine, beside what the machine can do at best.",
        discussion: """
            Each figure stands beside its limit: what processor and kernel take for the same without any library. Both are \
            measured by turns, on two processors (the second and third, if there are as many), in a directory of its own \
            that is gone afterwards. Takes about ten seconds, best on a machine that has nothing else to do: it says when \
            the limits themselves were unsteady. What it measures: Benchmarks/README.md.

              tidings bench
              tidings bench --json | jq '{row, ratio}'
            """)

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Option(help: ArgumentHelp("How often limit and figure take turns.", visibility: .hidden))
    var rounds = 9

    @Option(help: ArgumentHelp("Take so many times fewer samples: for tests.", visibility: .hidden))
    var shorter = 1

    @Flag(help: ArgumentHelp("Once a second process runs, wait to be interrupted: for tests.", visibility: .hidden))
    var hold = false

    func validate() throws {
        guard rounds >= 1, shorter >= 1 else { throw ValidationError("--rounds and --shorter are at least 1.") }
    }

    func run() throws {
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
