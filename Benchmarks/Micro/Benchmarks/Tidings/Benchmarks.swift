import Benchmark

let benchmarks: @Sendable () -> Void = {
    // What a single thread can do in a process of its own; figures of several processes are tidings-benchmarks'.
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput], scalingFactor: .kilo, maxDuration: .seconds(1), maxIterations: 10_000)

    cBenchmarks()
    swiftBenchmarks()
}
