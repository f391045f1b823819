import CCrossing
import CTidingsBench
import Foundation

/// Payloads that are built and read in place.
enum PlaceRows {
    private static let receivers = 8
    private static let large = 16 << 20

    static let all: [Row] = [
        latency("asleep-in-place-1m", "asleep, C, 1 MiB in place, one way", size: 1 << 20),
        latency("asleep-in-place-16m", "asleep, C, 16 MiB in place, one way", size: large),
        stream("lossless-in-place-64k", "lossless 1 → 1, 64 KiB, in place, summed", size: 1 << 16, messages: 40_000),
        stream("lossless-in-place-1m", "lossless 1 → 1, 1 MiB, in place, summed", size: 1 << 20, messages: 2000),
        receiving("receivers-8", "16 MiB built for \(receivers) receivers: the last has it", built: true, .ratio(1.5)),
        receiving("receivers-8-post", "the same, from the post on", built: false, .none),
        Row(
            id: "receivers-8-memory", title: "the same: memory of center and receivers, KiB",
            limitTitle: "one payload", requirement: .ratio(1.05), processors: 1
        ) { bench, alternate in
            try alternate({ Round(counted: UInt64(large / 1024)) }, { try memory(bench) })
        },
    ]

    private static func latency(_ id: String, _ title: String, size: Int) -> Row {
        Row(id: id, title: title, limitTitle: "the same with 64 B", requirement: .ratio(1.15), processors: 1) {
            bench, alternate in
            let count = bench.count(4000)
            try PayloadScales.withCenter(bench, "place") { center in
                let rally = { size in
                    try PayloadScales.rally(
                        bench, center: center, size: size, inPlace: true, awake: false, count: count)
                }
                try alternate({ try rally(64) }, { try rally(size) })
            }
        }
    }

    private static func stream(_ id: String, _ title: String, size: Int, messages: Int) -> Row {
        Row(id: id, title: title, limitTitle: "the same, copied in and out", requirement: .throughput(2)) {
            bench, alternate in
            try PayloadScales.withCenter(bench, "place") { center in
                let copied = Flow(size: size, messages: bench.count(messages), whole: true)
                var inPlace = copied
                inPlace.inPlace = true
                try alternate(
                    { try copied.round(bench, center: center) }, { try inPlace.round(bench, center: center) })
            }
        }
    }

    private static func receiving(_ id: String, _ title: String, built: Bool, _ requirement: Requirement) -> Row {
        Row(id: id, title: title, limitTitle: "a single receiver", requirement: requirement, processors: 1) {
            bench, alternate in
            try withReceivers(bench, 1) { single, alone in
                try withReceivers(bench, receivers) { group, center in
                    let round = { (area: Area, center: String, count: Int) in
                        try Wake.round(bench, own: false) {
                            crossing_wake(area.pointer, center, UInt32(count), large, built, $0, $1, $2)
                        }
                    }
                    try alternate({ try round(single, alone, 1) }, { try round(group, center, receivers) })
                }
            }
        }
    }

    /// What the first payload of a new center adds to the memory of the center's file, and to that of the receivers'
    /// own.
    private static func memory(_ bench: Bench) throws -> Round {
        var round = Round(counted: 0)
        try withReceivers(bench, receivers) { area, center in
            let taken = {
                try (0..<receivers).reduce(try Center.memory(bench, center: center).center / 1024) {
                    try $0 + anonymousMemory(of: pid_t(area.value(0, of: $1)))
                }
            }
            let before = try taken()
            let code = crossing_wake(area.pointer, center, UInt32(receivers), large, false, nil, nil, 0)
            guard code == 0 else { throw BenchError(code: Int(code), during: "receivers") }
            round = Round(counted: try taken() - before)
        }
        return round
    }

    /// In KiB.
    private static func anonymousMemory(of process: pid_t) throws -> UInt64 {
        let sums = try String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8)
        guard let line = sums.split(separator: "\n").first(where: { $0.hasPrefix("Anonymous:") }),
            let memory = line.split(separator: " ").dropFirst().first.flatMap({ UInt64($0) })
        else { throw BenchError("no memory of process \(process) in \"\(sums)\"") }
        return memory
    }

    private static func withReceivers(_ bench: Bench, _ count: Int, _ body: (Area, String) throws -> Void) throws {
        try PayloadScales.withCenter(bench, "receivers") { center in
            try bench.withArea { area in
                try bench.withMember(.woken, area, center: center, detail: count, count: count, cores: bench.all) {
                    try body(area, center)
                }
            }
        }
    }
}
