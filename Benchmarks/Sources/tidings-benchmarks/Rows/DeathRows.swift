import CCrossing
import CTidingsBench

/// How soon a process that sleeps learns that another one was killed.
enum DeathRows {
    private static let most = 5_000_000.0

    static let all: [Row] = [
        row("call-server-killed", "a server is killed: its caller knows, C", CROSSING_DEATH_SERVER),
        row("call-server-killed-swift", "the same, Swift: .serverEnded", CROSSING_DEATH_SWIFT),
        row("presence-died", "a participant is killed: the notice arrives, C", CROSSING_DEATH_PARTICIPANT),
    ]

    private static func row(_ id: String, _ title: String, _ what: Int) -> Row {
        Row(
            id: id, title: title, limitTitle: "robust mutex, owner killed", requirement: .p99(most), processors: 1
        ) { bench, alternate in
            let center = bench.name("deaths")
            try alternate(
                { try round(bench, center: center, CROSSING_DEATH_OWNER) },
                { try round(bench, center: center, what) })
        }
    }

    /// Every sample is the end of a process of its own.
    private static func round(_ bench: Bench, center: String, _ what: Int) throws -> Round {
        let count = bench.count(100)
        return try bench.withArea(bytes: crossing_death_bytes(UInt32(count))) { area in
            var members: [Int32] = []
            defer { members.forEach(bench.stop) }
            if what == CROSSING_DEATH_SWIFT {
                members.append(
                    try bench.enlist(.trackCaller, area, center: center, detail: 2 * count, cores: bench.all))
            }
            let killer = try bench.enlist(
                .deaths, area, center: center, detail: what << 16 | count, cores: bench.all)
            members.append(killer)
            try bench.finish(killer)
            return try Round("deaths", count: count) {
                $0.update(from: crossing_death_samples(area.pointer), count: count)
                return Int32(count)
            }
        }
    }
}
