import CTidingsBench
import Foundation

/// Observers that sleep on other names must cost posters nothing.
enum SleeperRows {
    private static let sleepers = 64
    static let countedPosts = 100_000

    static let all: [Row] = [
        Row(
            id: "sleepers-64", title: "post, 64 B, \(sleepers) processes asleep elsewhere",
            limitTitle: "post with none", requirement: .ratio(1.1), processors: 1
        ) { bench, alternate in
            let center = bench.name("sleepers")
            let poster = try Poster(center: center)
            let alone = try Poster(center: bench.name("alone"))
            try withSleepers(bench, center: center, poster: poster) {
                try alternate(
                    { try alone.post(bench, size: 64, count: 4000) },
                    { try poster.post(bench, size: 64, count: 4000) })
            }
        },
        Row(
            id: "sleepers-64-system-calls", title: "the same, system calls in \(countedPosts) posts",
            limitTitle: "posts with none", requirement: .zero, processors: 1
        ) { bench, alternate in
            let center = bench.name("sleepers")
            let poster = try Poster(center: center)
            let alone = bench.name("alone")
            try withSleepers(bench, center: center, poster: poster) {
                try alternate({ try systemCalls(bench, center: alone) }, { try systemCalls(bench, center: center) })
            }
        },
    ]

    private static func withSleepers(_ bench: Bench, center: String, poster: Poster, _ body: () throws -> Void) throws {
        try bench.withArena { arena, path in
            var peers: [Int32] = []
            defer { peers.forEach(bench.stop) }
            for index in 0..<sleepers {
                peers.append(
                    try bench.start(.sleep, arena: path, center: center, detail: index, cores: bench.elsewhere))
            }
            try bench.waitReady(arena, peers)
            while poster.asleep < sleepers { usleep(1000) }
            try body()
            guard poster.asleep == sleepers else { throw BenchError("\(poster.asleep) of \(sleepers) still asleep") }
        }
    }

    static func systemCalls(_ bench: Bench, center: String) throws -> Round {
        try bench.withArena { arena, path in
            let peer = try bench.start(
                .systemCalls, arena: path, center: center, detail: countedPosts, cores: [bench.there])
            defer { bench.stop(peer) }
            let status = bench_wait(peer, 30)
            guard status == 0 else { throw BenchError("not counted: the counting peer ended with status \(status)") }
            return Round(counted: bench_arena_received(arena))
        }
    }
}
