import Benchmark
import Glibc
import Tidings

// Measuring ends before a center is closed, which takes as long as thousands of these.
func swiftBenchmarks() {
    Benchmark("Swift post, five fields") { benchmark in
        let center = try SharedNotificationCenter.sealed(named: "micro")
        try posting(benchmark) { try center.post(Track(number: $0)) }
    }
    Benchmark("Swift post, bitwise") { benchmark in
        let center = try SharedNotificationCenter.sealed(named: "micro")
        try posting(benchmark) { try center.post(Meter(number: $0)) }
    }
    Benchmark("Swift encode, five fields") { benchmark in
        for index in benchmark.scaledIterations {
            withExtendedLifetime(try SharedNotificationCenter.RawPayload(encoding: Track(number: UInt64(index)))) {}
        }
    }
    Benchmark("Swift decode, five fields") { benchmark in
        let payload = try SharedNotificationCenter.RawPayload(encoding: Track(number: 1))
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations { withExtendedLifetime(try payload.decode(Track.self)) {} }
    }
    Benchmark("Swift decode, bitwise") { benchmark in
        let center = try SharedNotificationCenter.sealed(named: "micro")
        try center.post(Meter(number: 1), options: .init(retain: true))
        guard let payload = try center.rawState(for: Meter.name) else { fatalError("nothing was retained") }
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations { withExtendedLifetime(try payload.decode(Meter.self)) {} }
        benchmark.stopMeasurement()
    }
    Benchmark("Swift state, five fields") { benchmark in
        let center = try SharedNotificationCenter.sealed(named: "micro")
        try center.post(Track(number: 1), options: .init(retain: true))
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations { withExtendedLifetime(try center.state(for: Track.self)) {} }
        benchmark.stopMeasurement()
    }
    Benchmark("Swift register, cancel") { benchmark in
        let center = try SharedNotificationCenter.sealed(named: "micro")
        // The thread that delivers is there already.
        let first = try center.addObserver(for: Meter.self) { (_: Meter) in }
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations { try center.addObserver(for: Track.self) { (_: Track) in }.cancel() }
        benchmark.stopMeasurement()
        first.cancel()
    }
    Benchmark("Swift open", configuration: .init(scalingFactor: .one)) { benchmark in
        let first = try SharedNotificationCenter(named: "micro-\(getpid())")
        defer { try? SharedNotificationCenter.remove(named: first.name) }
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations { withExtendedLifetime(try SharedNotificationCenter(named: first.name)) {} }
        benchmark.stopMeasurement()
    }
}

private func posting(_ benchmark: Benchmark, _ post: (UInt64) throws -> Void) throws {
    // Three times around the ring, so that all pages are there.
    for index in 0..<12_288 { try post(UInt64(index)) }
    benchmark.startMeasurement()
    for index in benchmark.scaledIterations { try post(UInt64(index)) }
    benchmark.stopMeasurement()
}
