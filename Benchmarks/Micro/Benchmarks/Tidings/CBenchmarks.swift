import Benchmark
import CTidings

func cBenchmarks() {
    for size in [8, 64, 4096] {
        Benchmark("C post, \(size) B") { benchmark in
            let center = CCenter()
            let publisher = center.publisher("org.example.micro.unheard")
            let payload = [UInt8](repeating: 0x5a, count: size)
            // Three times around the ring, so that all pages are there.
            for _ in 0..<12_288 { must(tidings_post(publisher, payload, size, nil, nil)) }
            benchmark.startMeasurement()
            for _ in benchmark.scaledIterations { must(tidings_post(publisher, payload, size, nil, nil)) }
            benchmark.stopMeasurement()
            tidings_close(center.center)
        }
    }
    Benchmark("C next, 64 B") { benchmark in
        let center = CCenter()
        let publisher = center.publisher("org.example.micro.heard")
        let observer = center.observer()
        _ = center.add("org.example.micro.heard", to: observer)
        let payload = [UInt8](repeating: 0x5a, count: 64)
        var delivery = tidings_delivery()
        for _ in benchmark.scaledIterations { must(tidings_post(publisher, payload, 64, nil, nil)) }
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations { must(tidings_next(observer, 0, &delivery)) }
        benchmark.stopMeasurement()
        tidings_observer_close(observer)
        tidings_close(center.center)
    }
    Benchmark("C register, cancel") { benchmark in
        let center = CCenter()
        let observer = center.observer()
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations {
            must(tidings_observer_remove(observer, center.add("org.example.micro.registered", to: observer)))
        }
        benchmark.stopMeasurement()
        tidings_observer_close(observer)
        tidings_close(center.center)
    }
}
