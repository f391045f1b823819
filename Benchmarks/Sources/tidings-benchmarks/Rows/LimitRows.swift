import CTidingsBench

/// The limits, as rounds.
enum Limit {
    static func fetchAdd(_ bench: Bench) throws -> Round {
        let count = bench.count(4000)
        return try Round("fetch_add", count: count) { bench_limit_fetch_add($0, Int32(count), 256) }
    }

    static func line(_ bench: Bench, lines: Int = 1) throws -> Round {
        let count = bench.count(4000)
        return try bench.withPeer(.line, detail: lines) { arena in
            try Round("cache line", count: count) { bench_limit_line(arena, lines == 2, $0, Int32(count), 32) }
        }
    }

    static func futex(_ bench: Bench, hold: UInt64 = 0) throws -> Round {
        let count = bench.count(hold == 0 ? 8000 : 1000)
        return try bench.withPeer(.futex, detail: Int(hold)) { arena in
            try Round("futex", count: count) { bench_limit_futex(arena, hold, $0, Int32(count)) }
        }
    }

    /// Messages in a sample of throughput: several times round the ring, so that the ring's own buffering evens out.
    static let batch = 16384

    static func ring(_ bench: Bench, slots: Int, ahead: Int = 0) throws -> Round {
        let count = bench.count(200)
        return try bench.withPeer(.ring, detail: slots << 8 | ahead) { arena in
            let round = try Round("ring", count: count) {
                bench_limit_ring(arena, UInt32(slots), UInt32(ahead), $0, Int32(count), Int32(batch))
            }
            let wrong = bench_arena_wrong(arena)
            guard wrong == 0 else { throw BenchError("ring: \(wrong) wrong messages") }
            return round
        }
    }
}

/// The limits against themselves: how steady the machine is. A ratio far from 1 says that no other row means much just
/// now.
let limitRows: [Row] = [
    row("limit-fetch-add", "fetch_add, uncontended", Limit.fetchAdd),
    row("limit-line", "cache line there, spinning, one way") { try Limit.line($0) },
    row("limit-two-lines", "the same, a line for each way") { try Limit.line($0, lines: 2) },
    row("limit-futex", "futex, both asleep, one way") { try Limit.futex($0) },
    row("limit-ring", "SPSC ring, 64 B, 4,096 slots") { try Limit.ring($0, slots: 4096) },
    row("limit-ring-ahead", "SPSC ring, 64 B, 4,096 slots, prefetching") { try Limit.ring($0, slots: 4096, ahead: 8) },
    row("limit-ring-1024", "SPSC ring, 64 B, 1,024 slots") { try Limit.ring($0, slots: 1024) },
]

private func row(_ id: String, _ title: String, _ limit: @escaping @Sendable (Bench) throws -> Round) -> Row {
    Row(id: id, title: title, limitTitle: "itself", requirement: .none) { bench, alternate in
        try alternate({ try limit(bench) }, { try limit(bench) })
    }
}
