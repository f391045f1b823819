import CCrossing

/// Throughput of payloads that don't fit a slot, and of many posters.
enum FlowRows {
    static let all: [Row] = [
        copies("lossless-4k", "lossless 1 → 1, 4 KiB, a message", size: 4096, .throughput(0.4, goal: 0.7)),
        copies("lossless-1m", "lossless 1 → 1, 1 MiB, a message", size: 1 << 20, .throughput(0.4, goal: 0.7)),
        posters("posters-4", "4 posters → 1 observer, lossless, 64 B", processors: 5, .throughput(0.8, goal: 1)),
        posters("posters-4-shared", "the same, as many processors as there are", processors: 2, .noThroughput),
        // A call is two messages, so its limit is two messages: one of each stream.
        Row(
            id: "calls-10000", title: "10,000 calls in flight, 8 callers, 4 servers, 64 B",
            limitTitle: "lossless there, lossless back", requirement: .throughput(0.5)
        ) { bench, alternate in
            let (streams, calls) = (bench.name("streams"), bench.name("calls"))
            let messages = bench.count(400_000)
            try alternate(
                {
                    let flow = Flow(posters: 2, observers: 2, paired: true, messages: 4 * messages, unconfined: true)
                    return Round(picoseconds: 2 * (try flow.run(bench, center: streams).whole))
                },
                {
                    try Flow(
                        posters: 8, observers: 4, callsInFlight: 10_000, messages: messages, unconfined: true
                    ).round(bench, center: calls)
                })
        },
    ]

    private static func copies(_ id: String, _ title: String, size: Int, _ requirement: Requirement) -> Row {
        Row(
            id: id, title: title, limitTitle: "copy in, copy out, \(Limit.slots(size))", requirement: requirement
        ) { bench, alternate in
            let center = bench.name("copies")
            // What a quarter of a second takes, about.
            let flow = Flow(size: size, messages: bench.count(size > 65536 ? 1000 : 100_000))
            try alternate({ try Limit.copy(bench, size: size) }, { try flow.round(bench, center: center) })
        }
    }

    private static func posters(
        _ id: String, _ title: String, processors: Int, _ requirement: Requirement
    ) -> Row {
        Row(
            id: id, title: title, limitTitle: "one poster alone", requirement: requirement, processors: processors
        ) { bench, alternate in
            let center = bench.name("posters")
            let messages = bench.count(1_000_000)
            try alternate(
                { try Flow(messages: messages).round(bench, center: center) },
                { try Flow(posters: 4, messages: messages).round(bench, center: center) })
        }
    }
}

extension Limit {
    /// Places that payloads travel through: as many as keep both sides busy, and no more than the caches hold.
    static func slots(_ size: Int) -> Int { size > 65536 ? 4 : size > 4096 ? 16 : 64 }

    /// Copies between two processes, as a round.
    static func copy(_ bench: Bench, size: Int) throws -> Round {
        let slots = slots(size)
        let batch = max(1, min(4096, (1 << 20) / max(size, 64)))
        let count = bench.count(size > 65536 ? 400 : 100)
        return try bench.withArea(bytes: slots * (max(size, 1) + 64)) { area in
            try bench.withMember(.copy, area, detail: size << 16 | slots) {
                try Round("copy", count: count) {
                    crossing_limit_copy(area.pointer, size, UInt32(slots), $0, Int32(count), Int32(batch))
                }
            }
        }
    }
}
