import CCrossing

/// Throughput with many posters and many observers.
enum FlowScales {
    static let all: [Scale] = [
        scale("throughput-1-n", "Throughput, one poster", "observers") { Flow(observers: $0, messages: 0) },
        scale("throughput-n-1", "Throughput, one observer", "posters") { Flow(posters: $0, messages: 0) },
        scale("throughput-n-n", "Throughput, as many posters as observers", "of each") {
            Flow(posters: $0, observers: $0, messages: 0)
        },
    ]

    private static func scale(
        _ id: String, _ title: String, _ parameter: String, _ make: @escaping @Sendable (Int) -> Flow
    ) -> Scale {
        Scale(
            id: id, title: title, parameter: parameter, figure: "ns a message of 64 B",
            curves: ["lossless", "lossy, posted", "lossy, delivered to each"], values: [1, 2, 4, 8, 16]
        ) { bench, number, alternate in
            var lossless = make(number)
            lossless.messages = bench.count(400_000 / max(lossless.observers / 2, 1))
            var lossy = lossless
            lossy.lossless = false
            let flow = lossless
            let freely = lossy
            try PayloadScales.withCenter(bench, "flow") { center in
                var last = crossing_flow_result()
                try alternate([
                    { try flow.round(bench, center: center) },
                    {
                        last = try freely.run(bench, center: center)
                        return Round(picoseconds: last.posting)
                    },
                    {
                        // Of the same run: as long as the whole took, and as many as each got of all that there were.
                        let share = Double(last.delivered) / Double(last.delivered + last.missed)
                        return Round(picoseconds: UInt64(Double(last.whole) / max(share, 1e-9)))
                    },
                ])
            }
        }
    }
}
