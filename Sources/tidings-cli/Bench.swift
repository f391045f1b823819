// The command `tidings bench`.
import ArgumentParser

struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the speed of Tidings on this machine.",
        discussion: """
            Without a subcommand: the ratios of ten operations to the machine's limits, in ten seconds. "throughput" \
            and "latency" run real processes, and print what they reach and what it costs them. Run them on an idle \
            machine, and from a release build: swift run -c release tidings bench. All files are in a temporary \
            directory, which is removed also if the benchmark is killed.

              tidings bench
              tidings bench throughput --posters 2 --observers 4 --payload 64,4KiB,1MiB
              tidings bench latency --rate 1000
            """,
        subcommands: [BenchRatios.self, BenchThroughput.self, BenchLatency.self],
        defaultSubcommand: BenchRatios.self)
}

/// What kind of build measures.
enum BenchBuild {
    #if DEBUG
        static let isDebug = true
    #else
        static let isDebug = false
    #endif

    /// Reports a debug build on standard error, and how to run another one.
    static func report() {
        guard isDebug else { return }
        Terminal.note("this is a debug build, which is several times slower; use swift run -c release tidings bench")
    }
}
