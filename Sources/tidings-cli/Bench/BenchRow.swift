import CTidingsBench
import Tidings

/// One line of the table. The timed loops are in `CTidingsBench`, as for Benchmarks/.
struct BenchRow {
    typealias Measurement = () throws -> [UInt64]

    let id: String
    let title: String
    let limitTitle: String
    /// Whether both processes must run at the same time.
    var needsTwo = false
    /// Whether the displayed ratio is of throughput, where more is better.
    var isThroughput = false
    /// Sets up what both measurements need, and passes them on: the limit, and this library.
    let take: (BenchMachine, _ alternate: (_ limit: Measurement, _ ours: Measurement) throws -> Void) throws -> Void

    func measure(on machine: BenchMachine) throws -> BenchResult {
        var limits: [[UInt64]] = []
        var ours: [[UInt64]] = []
        try take(machine) { measureLimit, measureOurs in
            for _ in 0..<machine.rounds {
                limits.append(try measureLimit())
                ours.append(try measureOurs())
            }
        }
        return BenchResult(self, limits: limits, ours: ours)
    }

    static var all: [BenchRow] {
        [
            BenchRow(id: "post", title: "post, 64 B, no observer", limitTitle: "fetch_add") { machine, alternate in
                let poster = try BenchPoster(center: machine.name("alone"))
                try alternate({ try fetchAdd(machine) }, { try poster.post(machine) })
            },
            BenchRow(
                id: "post-followed", title: "post, 64 B, another process follows", limitTitle: "fetch_add",
                needsTwo: true
            ) { machine, alternate in
                let center = machine.name("followed")
                let poster = try BenchPoster(center: center)
                let followed = {
                    try machine.withPeer(.follow, center: center) { arena in
                        let samples = try poster.post(machine)
                        bench_arena_stop(arena)
                        try poster.postSome()  // wakes the peer, which then reads that it must stop
                        return samples
                    }
                }
                try alternate({ try fetchAdd(machine) }, followed)
            },
            BenchRow(id: "asleep", title: "to an observer asleep, one way", limitTitle: "futex, one way") {
                machine, alternate in
                let center = machine.name("asleep")
                let limit = {
                    try machine.withPeer(.futex) { arena in
                        try machine.samples(2000) { bench_limit_futex(arena, 0, $0, $1) }
                    }
                }
                let ours = {
                    try machine.withPeer(.pingpongAsleep, center: center) { arena in
                        try machine.samples(2000) { bench_pingpong(arena, center, 64, 0, 0, $0, $1, 1) }
                    }
                }
                try alternate(limit, ours)
            },
            BenchRow(
                id: "awake", title: "to an observer awake, one way", limitTitle: "cache line, one way", needsTwo: true
            ) { machine, alternate in
                let center = machine.name("awake")
                let limit = {
                    try machine.withPeer(.line) { arena in
                        try machine.samples(2000) { bench_limit_line(arena, false, $0, $1, 32) }
                    }
                }
                let ours = {
                    try machine.withPeer(.pingpongAwake, center: center) { arena in
                        try machine.samples(2000) { bench_pingpong(arena, center, 64, .max, 0, $0, $1, 32) }
                    }
                }
                try alternate(limit, ours)
            },
            BenchRow(
                id: "lossless", title: "to a lossless observer, per 64 B message",
                limitTitle: "ring for one poster",
                needsTwo: true, isThroughput: true
            ) { machine, alternate in
                let center = machine.name("lossless")
                // Each sample takes several laps of the ring.
                let limit = {
                    try machine.withPeer(.ring) { arena in
                        try machine.samples(60) { bench_limit_ring(arena, BenchPeer.slots, 0, $0, $1, 16384) }
                    }
                }
                let ours = {
                    try machine.withPeer(.lossless, center: center) { arena in
                        let samples = try machine.samples(60) { bench_lossless(arena, center, $0, $1, 16384, 1) }
                        let (missed, wrong) = (bench_arena_missed(arena), bench_arena_wrong(arena))
                        guard missed == 0, wrong == 0 else {
                            throw Failure(
                                "of a lossless observer's messages \(missed) were missed, \(wrong) were wrong")
                        }
                        return samples
                    }
                }
                try alternate(limit, ours)
            },
            BenchRow(id: "swift-post", title: "post, Swift, struct of five fields", limitTitle: "C post, 64 B") {
                machine, alternate in
                let poster = try BenchPoster(center: machine.name("alone"))
                let center = try Center(named: machine.name("swift"))
                for index in 0..<10_000 { try center.post(BenchTrack(number: UInt64(index))) }
                let ours = { try timed(machine) { try center.post(BenchTrack(number: $0)) } }
                try alternate({ try poster.post(machine) }, ours)
            },
            BenchRow(id: "swift-decode", title: "decode, Swift, struct of five fields", limitTitle: "C next, 64 B") {
                machine, alternate in
                let center = machine.name("drain")
                let payload = try Center.RawPayload(encoding: BenchTrack(number: 1))
                let limit = { try machine.samples(100) { bench_drain(center, 64, $0, $1, 1000) } }
                let ours = { try timed(machine) { _ in withExtendedLifetime(try payload.decode(BenchTrack.self)) {} } }
                try alternate(limit, ours)
            },
        ]
    }

    private static func fetchAdd(_ machine: BenchMachine) throws -> [UInt64] {
        try machine.samples(2000) { bench_limit_fetch_add($0, $1, 256) }
    }

    private static func timed(_ machine: BenchMachine, _ body: (UInt64) throws -> Void) throws -> [UInt64] {
        let batch: UInt64 = 256
        return try machine.samples(300) { samples, count in
            for index in -count / 10..<count {
                let start = bench_ticks()
                for step in 0..<batch { try body(step) }
                if index >= 0 { samples[Int(index)] = bench_picoseconds(bench_ticks() - start) / batch }
            }
            return count
        }
    }
}

/// A message that travels as CBOR.
private struct BenchTrack: Center.Message {
    static let name: Center.Name = "bench.track"

    var number: UInt64
    var title = "Freddie Freeloader, no 3"
    var artist = "Kelly, Davis, Coltrane, "
    var position = 12.5
    var isPlaying = true
}

/// A center of this run, open for posting.
private final class BenchPoster {
    private let poster: OpaquePointer

    init(center: String) throws {
        var made: OpaquePointer?
        try check(bench_poster_open(center, BenchPeer.name, &made), "can't open a center")
        poster = made!
    }

    deinit {
        bench_poster_close(poster)
    }

    func post(_ machine: BenchMachine) throws -> [UInt64] {
        try machine.samples(2000) { bench_post(poster, 64, 0, $0, $1, 256) }
    }

    func postSome() throws {
        var samples = [UInt64](repeating: 0, count: 10)
        try check(bench_post(poster, 64, 0, &samples, 10, 1), "can't post")
    }
}
