import CTidingsBench

/// Tidings through its C API.
enum CenterRows {
    /// What posters post and followers follow.
    static let name = "benchmark"
    private static let spinForEver = UInt32.max

    static let all: [Row] = [
        postAlone("post-64", size: 64, .ratio(5, goal: 3.5)),
        postAlone("post-8", size: 8, .none),
        postFollowed(
            "post-followed-64", "post, 64 B, one observer following", gap: 0, batch: 256, .nanoseconds(40, goal: 25)),
        postFollowed(
            "post-followed-3", "post, 64 B, three observers following", followers: 3, gap: 0, batch: 256,
            .nanoseconds(50, goal: 30)),
        postFollowed("post-followed-bursts", "the same, bursts of 16, 5 µs apart", gap: 5000, batch: 16, .none),
        lossless("lossless-64", slots: 4096, .throughput(0.35)),
        lossless("lossless-64-batches-16", slots: 4096, many: 16, .throughput(0.6)),
        lossless("lossless-64-batches-64", slots: 4096, many: 64, .throughput(0.6)),
        lossless("lossless-64-ahead", slots: 4096, ahead: 8, .noThroughput),
        lossless("lossless-64-short", slots: 1024, .noThroughput),
        latency("asleep-64", "asleep, C, 64 B, one way", size: 64, asleep: true, .ratio(1.15, goal: 1.1)),
        latency(
            "asleep-64-held", "the same, each held for 100 µs", size: 64, asleep: true, hold: SwiftRows.hold, .none),
        latency("asleep-8", "asleep, C, 8 B, one way", size: 8, asleep: true, .none),
        latency("awake-64", "awake, C, 64 B, one way", size: 64, asleep: false, .ratio(2, goal: 1.5)),
        latency("awake-64-two-lines", "awake, C, 64 B, one way", size: 64, asleep: false, lines: 2, .none),
        latency(
            "awake-64-each", "awake, C, 64 B, one way, no mean of 32", size: 64, asleep: false, batch: 1, .none),
        latency("awake-8", "awake, C, 8 B, one way", size: 8, asleep: false, .none),
        call("call-asleep", "half a call, asleep, C, 64 B in and out", asleep: true, .ratio(1.25)),
        call("call-awake", "half a call, awake, C, 64 B in and out", asleep: false, .ratio(2.5)),
    ]

    private static func postAlone(_ id: String, size: Int, _ requirement: Requirement) -> Row {
        Row(
            id: id, title: "post, \(size) B, no observer", limitTitle: "fetch_add", requirement: requirement,
            processors: 1
        ) { bench, alternate in
            let poster = try Poster(center: bench.name("alone"))
            try alternate({ try Limit.fetchAdd(bench) }, { try poster.post(bench, size: size, count: 4000) })
        }
    }

    private static func postFollowed(
        _ id: String, _ title: String, followers: Int = 1, gap: UInt64, batch: Int, _ requirement: Requirement
    ) -> Row {
        Row(
            id: id, title: title, limitTitle: "fetch_add", requirement: requirement, processors: followers + 1
        ) { bench, alternate in
            let center = bench.name("followed")
            let poster = try Poster(center: center)
            let followed = {
                try bench.withPeers(.follow, center: center, count: followers) { arena in
                    let round = try poster.post(bench, size: 64, count: 8000, batch: batch, gap: gap)
                    bench_arena_stop(arena)
                    _ = try poster.post(bench, size: 64, count: 10, batch: 1)
                    return round
                }
            }
            try alternate({ try Limit.fetchAdd(bench) }, followed)
        }
    }

    private static func lossless(
        _ id: String, slots: Int, ahead: Int = 0, many: Int = 1, _ requirement: Requirement
    ) -> Row {
        Row(
            id: id, title: "lossless 1 → 1, 64 B, checked, \(many > 1 ? "batches of \(many)" : "a message")",
            limitTitle: "SPSC ring, \(slots)\(ahead > 0 ? ", prefetching" : "")",
            requirement: requirement
        ) { bench, alternate in
            let center = bench.name("lossless")
            let count = bench.count(200)
            let total = count * Limit.batch
            let ours = {
                try bench.withPeer(.lossless, center: center, detail: many) { arena in
                    let round = try Round("lossless", count: count) {
                        bench_lossless(arena, center, $0, Int32(count), Int32(Limit.batch), Int32(many))
                    }
                    let received = bench_arena_received(arena)
                    let missed = bench_arena_missed(arena)
                    let wrong = bench_arena_wrong(arena)
                    guard received == total, missed == 0, wrong == 0 else {
                        throw BenchError("of \(total): \(received) received, \(missed) missed, \(wrong) wrong")
                    }
                    return round
                }
            }
            try alternate({ try Limit.ring(bench, slots: slots, ahead: ahead) }, ours)
        }
    }

    /// A call against what it needs at least: asleep a futex round trip, awake a post each way.
    private static func call(_ id: String, _ title: String, asleep: Bool, _ requirement: Requirement) -> Row {
        Row(
            id: id, title: title, limitTitle: asleep ? "futex, both asleep" : "awake, C, 64 B, one way",
            requirement: requirement, processors: asleep ? 1 : 2
        ) { bench, alternate in
            let center = bench.name("call")
            let count = bench.count(asleep ? 8000 : 4000)
            let spin = asleep ? 0 : spinForEver
            let ours = {
                try bench.withPeer(.call, center: center, detail: asleep ? 0 : 1) { _ in
                    try Round("call", count: count) {
                        bench_call(center, 64, spin, $0, Int32(count), asleep ? 1 : 32)
                    }
                }
            }
            let limit = {
                if asleep { return try Limit.futex(bench, hold: 0) }
                let latency = bench.name("latency")
                return try bench.withPeer(.pingpong, center: latency, detail: 1 << 32) { arena in
                    try Round("ping-pong", count: count) {
                        bench_pingpong(arena, latency, 64, spin, 0, $0, Int32(count), 32)
                    }
                }
            }
            try alternate(limit, ours)
        }
    }

    private static func latency(
        _ id: String, _ title: String, size: Int, asleep: Bool, lines: Int = 1, hold: UInt64 = 0, batch: Int = 32,
        _ requirement: Requirement
    ) -> Row {
        let limitTitle =
            asleep ? "futex, both asleep" : lines == 2 ? "cache lines, one each way" : "cache line, spinning"
        return Row(
            id: id, title: title, limitTitle: limitTitle, requirement: requirement, processors: asleep ? 1 : 2
        ) { bench, alternate in
            let center = bench.name("latency")
            let spin = asleep ? 0 : spinForEver
            let count = bench.count(hold > 0 ? 1000 : asleep ? 8000 : 4000)
            let ours = {
                try bench.withPeer(.pingpong, center: center, detail: (asleep ? 0 : 1 << 32) | Int(hold)) { arena in
                    try Round("ping-pong", count: count) {
                        bench_pingpong(arena, center, size, spin, hold, $0, Int32(count), asleep ? 1 : Int32(batch))
                    }
                }
            }
            let limit = {
                asleep ? try Limit.futex(bench, hold: hold) : try Limit.line(bench, lines: lines, batch: batch)
            }
            try alternate(limit, ours)
        }
    }
}

/// A center of this run, open for posting.
final class Poster {
    private let poster: OpaquePointer

    init(center: String) throws {
        var made: OpaquePointer?
        let code = bench_poster_open(center, CenterRows.name, &made)
        guard let made, code == 0 else { throw BenchError(code: Int(code), during: "can't open center \(center)") }
        poster = made
    }

    deinit {
        bench_poster_close(poster)
    }

    var asleep: Int32 { bench_asleep(poster) }

    func post(_ bench: Bench, size: Int, count: Int, batch: Int = 256, gap: UInt64 = 0) throws -> Round {
        let count = bench.count(count)
        return try Round("post", count: count) { bench_post(poster, size, gap, $0, Int32(count), Int32(batch)) }
    }
}
