import CCrossing

/// What payloads of 0 B to 16 MiB cost, with copying alone beside it.
enum PayloadScales {
    private static let sizes = [
        0, 16, 64, 128, 256, 1024, 4096, 16384, 65536, 262_144, 1 << 20, 4 << 20, 16 << 20,
    ]

    static let all: [Scale] = [
        latency("payload-latency-asleep", "Latency of payloads, observers asleep", awake: false),
        latency("payload-latency-awake", "Latency of payloads, observers awake", awake: true),
        Scale(
            id: "payload-throughput", title: "Throughput of payloads, lossless, 1 → 1", parameter: "bytes a payload",
            figure: "ns a message", curves: ["Tidings", "copy in, copy out"], values: sizes
        ) { bench, size, alternate in
            try withCenter(bench, "throughput") { center in
                // A tenth of a second or so, and several times round the ring.
                let flow = Flow(size: size, messages: bench.count(max(100, min(400_000, (1 << 29) / max(size, 1)))))
                try alternate([
                    { try flow.round(bench, center: center) }, { try Limit.copy(bench, size: size) },
                ])
            }
        },
    ]

    private static func latency(_ id: String, _ title: String, awake: Bool) -> Scale {
        Scale(
            id: id, title: title, parameter: "bytes a payload", figure: "ns one way",
            curves: ["Tidings", "Tidings, in place", awake ? "copying, cache line" : "copying, futex"], values: sizes,
            processors: awake ? 2 : 1
        ) { bench, size, alternate in
            let count = max(10, min(bench.count(2000), (1 << 27) / max(size, 1)))
            try withCenter(bench, "rally") { center in
                let posted = { (inPlace: Bool) in
                    try rally(bench, center: center, size: size, inPlace: inPlace, awake: awake, count: count)
                }
                try alternate([
                    { try posted(false) }, { try posted(true) },
                    {
                        try bench.withArea(bytes: 2 * (size + 64)) { area in
                            try bench.withMember(awake ? .copyAwake : .copyAsleep, area, detail: size) {
                                try Round("copying", count: count) {
                                    crossing_limit_copy_pingpong(area.pointer, size, awake, $0, Int32(count))
                                }
                            }
                        }
                    },
                ])
            }
        }
    }

    /// Half a round trip, as a round.
    static func rally(
        _ bench: Bench, center: String, size: Int, inPlace: Bool, awake: Bool, count: Int
    ) throws -> Round {
        try bench.withArea { area in
            try bench.withMember(
                awake ? .rallyAwake : .rallyAsleep, area, center: center, detail: inPlace ? 1 : 0
            ) {
                try Round("rally", count: count) {
                    crossing_rally(center, size, inPlace, awake ? .max : 0, $0, Int32(count))
                }
            }
        }
    }

    /// A center whose memory is given back afterwards.
    static func withCenter(_ bench: Bench, _ stem: String, _ body: (String) throws -> Void) throws {
        let center = bench.name(stem)
        defer { crossing_remove(center) }
        try body(center)
    }
}
