/// Ours beside what others do: their time in place of a limit's, so that the ratio says how many times ours it is. Both
/// sides of every row are executables of `Benchmarks/Rivals`, with the same loops.
enum RivalRows {
    private struct Rival {
        let name, title: String
        var streams = [64, 4096, 65536]
        var exchanges: [RivalProcess.Exchange] = [.message]
        /// Of the row of calls, if it differs.
        var callTitle: String?
    }

    private static let rivals: [Rival] = [
        Rival(name: "eventfd", title: "eventfd", streams: [64]),
        Rival(name: "unixgram", title: "Unix datagram socket"),
        Rival(name: "mqueue", title: "POSIX message queue", streams: [64, 4096]),
        Rival(name: "zeromq", title: "ZeroMQ, ipc", exchanges: [.message, .call], callTitle: "ZeroMQ, REQ and REP"),
        Rival(
            name: "iceoryx", title: "iceoryx", streams: [64, 4096, 65536, 1 << 20],
            exchanges: [.message, .messageAwake]),
        Rival(name: "iceoryx2", title: "iceoryx2, Python", exchanges: [.message, .messageAwake]),
        Rival(name: "redis", title: "Redis pub/sub"),
        Rival(name: "nats", title: "NATS core"),
        Rival(name: "mosquitto", title: "Mosquitto (MQTT)"),
        Rival(name: "dbus", title: "D-Bus signal", exchanges: [.message, .call], callTitle: "D-Bus method call"),
        Rival(name: "gnustep", title: "GNUstep, gdnc"),
        Rival(name: "unixstream", title: "Unix stream socket", streams: [], exchanges: [.call]),
        Rival(name: "grpc", title: "gRPC, Swift", streams: [], exchanges: [.call]),
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
        rival.exchanges.map { latency(rival, $0) } + rival.streams.map { stream(rival, size: $0) }
    }

    private static func latency(_ rival: Rival, _ exchange: RivalProcess.Exchange) -> Row {
        let (suffix, title) =
            switch exchange {
            case .message: ("", "asleep, C, 64 B, one way")
            case .messageAwake: ("-awake", "awake, C, 64 B, one way")
            case .call: ("-call", "half a call, asleep, C, 64 B in and out")
            }
        return Row(
            id: "rival-\(rival.name)\(suffix)", title: title,
            limitTitle: exchange == .call ? rival.callTitle ?? rival.title : rival.title, requirement: .noThroughput
        ) { bench, alternate in
            let count = bench.count(4000)
            try pair(bench, rival) { theirs, ours in
                try alternate(
                    { try theirs.latency(exchange, count: count, size: 64) },
                    { try ours.latency(exchange, count: count, size: 64) })
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
