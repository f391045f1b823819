import CCrossing
import CTidingsBench
import Foundation

/// Many processes that sleep on other names, and many that are woken at once.
enum WakeGroupRows {
    private static let asleep = 256
    private static let names = 100_000
    private static let woken = 100

    static let all: [Row] = [
        Row(
            id: "sleepers-256", title: "post, 64 B, \(asleep) processes asleep, \(names) names",
            limitTitle: "post in an empty center", requirement: .ratio(1.1), processors: 1
        ) { bench, alternate in
            let center = bench.name("sleepers")
            let poster = try Poster(center: center)
            let alone = try Poster(center: bench.name("alone"))
            try withWakeGroup(bench, center: center, poster: poster) {
                try alternate(
                    { try alone.post(bench, size: 64, count: 4000) },
                    { try poster.post(bench, size: 64, count: 4000) })
            }
        },
        Row(
            id: "sleepers-256-system-calls", title: "the same, system calls in \(SleeperRows.countedPosts) posts",
            limitTitle: "posts in an empty center", requirement: .zero, processors: 1
        ) { bench, alternate in
            let center = bench.name("sleepers")
            let poster = try Poster(center: center)
            let alone = bench.name("alone")
            try withWakeGroup(bench, center: center, poster: poster) {
                try alternate(
                    { try SleeperRows.systemCalls(bench, center: alone) },
                    { try SleeperRows.systemCalls(bench, center: center) })
            }
        },
        wake("wake-100", "\(woken) processes woken by a post: the last runs", own: false, .ratio(2, goal: 1.3)),
        wake("wake-100-poster", "the same: what the post takes", own: true, .ratio(2, goal: 1.3)),
    ]

    private static func withWakeGroup(_ bench: Bench, center: String, poster: Poster, _ body: () throws -> Void) throws
    {
        try bench.withArea { area in
            // The names come first: each new name would wake the sleepers to look at the table anew.
            try bench.withMember(.names, area, center: center, detail: names, cores: bench.away) {
                try bench.withMember(
                    .sleepers, area, center: center, detail: asleep, count: 1 + asleep, cores: bench.away
                ) {
                    let end = ContinuousClock.now + .seconds(20)
                    while poster.asleep < asleep + 1, ContinuousClock.now < end { usleep(1000) }
                    try body()
                    let still = poster.asleep
                    guard still == asleep + 1 else { throw BenchError("\(still) of \(asleep + 1) still asleep") }
                }
            }
        }
    }

    private static func wake(_ id: String, _ title: String, own: Bool, _ requirement: Requirement) -> Row {
        Row(
            id: id, title: title, limitTitle: "one FUTEX_WAKE of \(woken)", requirement: requirement, processors: 1
        ) { bench, alternate in
            try Wake.withWakeGroups(bench, processes: woken) { wake in
                try alternate({ try wake.limit(bench, own: own) }, { try wake.ours(bench, own: own) })
            }
        }
    }
}

/// Two groups of sleepers: one on a bare word, one on a name.
struct Wake {
    private let bare, observers: Area
    private let center: String
    private let processes: Int

    static func withWakeGroups(_ bench: Bench, processes: Int, _ body: (Wake) throws -> Void) throws {
        let center = bench.name("wake")
        try bench.withArea { bare in
            try bench.withArea { observers in
                try bench.withMember(.wokenBare, bare, detail: processes, count: processes, cores: bench.away) {
                    try bench.withMember(
                        .woken, observers, center: center, detail: processes, count: processes, cores: bench.away
                    ) {
                        try body(
                            Wake(bare: bare, observers: observers, center: center, processes: processes))
                    }
                }
            }
        }
    }

    /// `own`: what waking them takes; otherwise until the last one runs.
    func limit(_ bench: Bench, own: Bool) throws -> Round {
        try Self.round(bench, own: own) { crossing_wake_bare(bare.pointer, UInt32(processes), $0, $1, $2) }
    }

    func ours(_ bench: Bench, own: Bool) throws -> Round {
        try Self.round(bench, own: own) {
            crossing_wake(observers.pointer, center, UInt32(processes), 64, false, $0, $1, $2)
        }
    }

    static func round(
        _ bench: Bench, own: Bool,
        _ wake: (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>, Int32) -> Int32
    ) throws -> Round {
        let count = 20
        var others = [UInt64](repeating: 0, count: count)
        return try Round("wake", count: count) { samples in
            others.withUnsafeMutableBufferPointer { others in
                guard let others = others.baseAddress else { return -EINVAL }
                return own ? wake(others, samples, Int32(count)) : wake(samples, others, Int32(count))
            }
        }
    }
}
