/// Ours beside what others do: their time in place of a limit's, so that the ratio says how many times ours it is. Both
/// sides of every row are executables of `Benchmarks/Rivals`, with the same loops.
enum RivalRows {
    private struct Rival {
        let name, title: String
        var streams = [64, 4096, 65536]
        var awake = false
    }

    private static let rivals: [Rival] = [
        Rival(name: "eventfd", title: "eventfd", streams: [64]),
        Rival(name: "unixgram", title: "Unix datagram socket"),
        Rival(name: "mqueue", title: "POSIX message queue", streams: [64, 4096]),
        Rival(name: "zeromq", title: "ZeroMQ, ipc"),
        Rival(name: "iceoryx", title: "iceoryx", awake: true),
        Rival(name: "iceoryx2", title: "iceoryx2, Python", awake: true),
        Rival(name: "redis", title: "Redis pub/sub"),
        Rival(name: "nats", title: "NATS core"),
        Rival(name: "mosquitto", title: "Mosquitto (MQTT)"),
        Rival(name: "dbus", title: "D-Bus signal"),
        Rival(name: "gnustep", title: "GNUstep, gdnc"),
    ]

    static let all: [Row] = rivals.flatMap(rows) + RivalFoundation.all

    /// Those that can be measured here; the others are named on standard error.
    static var there: [Row] {
        var missing: [String] = []
        for name in ["tidings"] + rivals.map(\.name) where !RivalProcess.isThere(name) { missing.append(name) }
        if !missing.isEmpty {
            note("skipped, not built: \(missing.joined(separator: ", ")) (Benchmarks/Rivals/install.sh, then build.sh)")
        }
        if missing.contains("tidings") { return RivalFoundation.all }
        return rivals.filter { !missing.contains($0.name) }.flatMap(rows) + RivalFoundation.all
    }

    private static func rows(_ rival: Rival) -> [Row] {
        [latency(rival, awake: false)] + (rival.awake ? [latency(rival, awake: true)] : [])
            + rival.streams.map { stream(rival, size: $0) }
    }

    private static func latency(_ rival: Rival, awake: Bool) -> Row {
        Row(
            id: "rival-\(rival.name)\(awake ? "-awake" : "")",
            title: awake ? "awake, C, 64 B, one way" : "asleep, C, 64 B, one way", limitTitle: rival.title,
            requirement: .noThroughput
        ) { bench, alternate in
            let count = bench.count(4000)
            try pair(bench, rival) { theirs, ours in
                try alternate(
                    { try theirs.latency(count: count, size: 64, awake: awake) },
                    { try ours.latency(count: count, size: 64, awake: awake) })
            }
        }
    }

    private static func stream(_ rival: Rival, size: Int) -> Row {
        let shown = size < 1024 ? "\(size) B" : "\(size / 1024) KiB"
        return Row(
            id: "rival-\(rival.name)-stream-\(size)", title: "lossless 1 → 1, \(shown), checked, a message",
            limitTitle: rival.title, requirement: .noThroughput
        ) { bench, alternate in
            try pair(bench, rival) { theirs, ours in
                try alternate({ try theirs.stream(size: size) }, { try ours.stream(size: size) })
            }
        }
    }

    private static func pair(
        _ bench: Bench, _ rival: Rival, _ body: (_ theirs: RivalProcess, _ ours: RivalProcess) throws -> Void
    ) throws {
        let theirs = try RivalProcess(rival.name, on: bench)
        defer { theirs.end() }
        let ours = try RivalProcess("tidings", on: bench)
        defer { ours.end() }
        try body(theirs, ours)
    }
}
