import CCrossing
import CTidingsBench

/// The limits, as rounds.
enum Limit {
    static func fetchAdd(_ bench: Bench) throws -> Round {
        let count = bench.count(4000)
        return try Round("fetch_add", count: count) { bench_limit_fetch_add($0, Int32(count), 256) }
    }

    static func systemCall(_ bench: Bench) throws -> Round {
        let count = bench.count(2000)
        return try Round("system call", count: count) { crossing_limit_system_call($0, Int32(count), 64) }
    }

    static func memcpy(_ bench: Bench, size: Int) throws -> Round {
        let batch = size > 65536 ? 1 : 64
        let count = bench.count(1000)
        return try Round("memcpy", count: count) { crossing_limit_memcpy(size, $0, Int32(count), Int32(batch)) }
    }

    static func line(_ bench: Bench, lines: Int = 1, batch: Int = 32) throws -> Round {
        let count = bench.count(4000)
        return try bench.withPeer(.line, detail: lines) { arena in
            try Round("cache line", count: count) {
                bench_limit_line(arena, lines == 2, $0, Int32(count), Int32(batch))
            }
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
    row("limit-fetch-add", "fetch_add, uncontended", processors: 1, Limit.fetchAdd),
    row("limit-system-call", "a system call that does nothing", processors: 1, Limit.systemCall),
    row("limit-memcpy-4k", "memcpy of 4 KiB", processors: 1) { try Limit.memcpy($0, size: 4096) },
    row("limit-memcpy-1m", "memcpy of 1 MiB", processors: 1) { try Limit.memcpy($0, size: 1 << 20) },
    row("limit-line", "cache line there, spinning, one way") { try Limit.line($0) },
    row("limit-two-lines", "the same, a line for each way") { try Limit.line($0, lines: 2) },
    row("limit-futex", "futex, both asleep, one way", processors: 1) { try Limit.futex($0) },
    row("limit-ring", "SPSC ring, 64 B, 4,096 slots") { try Limit.ring($0, slots: 4096) },
    row("limit-ring-ahead", "SPSC ring, 64 B, 4,096 slots, prefetching") { try Limit.ring($0, slots: 4096, ahead: 8) },
    row("limit-ring-1024", "SPSC ring, 64 B, 1,024 slots") { try Limit.ring($0, slots: 1024) },
]

private func row(
    _ id: String, _ title: String, processors: Int = 2, _ limit: @escaping @Sendable (Bench) throws -> Round
) -> Row {
    Row(id: id, title: title, limitTitle: "itself", requirement: .none, processors: processors) { bench, alternate in
        try alternate({ try limit(bench) }, { try limit(bench) })
    }
}
