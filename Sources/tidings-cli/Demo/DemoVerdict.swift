import Tidings

/// Compares the notifications that the observers received with the posted ones and with the library's promises.
struct DemoVerdict {
    private(set) var problems: [String] = []
    private(set) var table = ""
    private(set) var summary = ""

    /// - Parameter killed: how many notifications of each kind the killed extension had received.
    init(_ host: DemoHost, killed: [Kind: Int]) {
        check(host)
        table = Self.table(host, killed: killed)
        let ticks = host.reports["host"]?.runs.reduce(0) { $0 + $1.received + $1.missed } ?? 0
        let posted = host.posted.values.reduce(0) { $0 + $1.count } + ticks
        let delivered = host.reports.values.reduce(0) { $0 + $1.delivered } + killed.values.reduce(0, +)
        let missed = host.reports.values.reduce(0) { $0 + $1.allMissed }
        summary =
            "posted \(posted.grouped), delivered \(delivered.grouped) to \(host.reports.count + 1) observers, "
            + "missed \(missed.grouped) (all counted): "
            + (problems.isEmpty ? "every promise kept" : counted(problems.count, "promise") + " broken")
    }

    private mutating func check(_ host: DemoHost) {
        for (name, seen) in host.reports.sorted(by: { $0.key < $1.key }) {
            if seen.allDisordered > 0 {
                problems.append("\(name) received \(seen.allDisordered) out of order or twice")
            }
            if seen.damaged > 0 { problems.append("\(name) received \(counted(seen.damaged, "damaged payload"))") }
            if name != "host" { checkMessages(of: name, seen, host) }
            checkTicks(of: name, seen, host)
        }
        // Observers that missed nothing of a loop received the same ticks, even if the loop ended in the middle of a
        // post.
        for run in host.ticks.keys.sorted() {
            let whole = host.reports.compactMap { $1.runs.first { $0.run == run } }.filter { $0.missed == 0 }
            if Set(whole.map(\.received)).count > 1 {
                problems.append("the observers received different ends of loop \(run)")
            }
        }
    }

    /// The observer must have received every notification since its registration, in order, none twice, and the value
    /// that was retained then.
    private mutating func checkMessages(of name: String, _ seen: Observations, _ host: DemoHost) {
        for kind in Kind.allCases {
            let expected = Array(host.posted[kind, default: []].dropFirst(host.before[name]?[kind] ?? 0))
            let got = seen.numbers[kind, default: []]
            if got != expected {
                problems.append("\(name) should have received \(kind) \(expected), but received \(got)")
            }
            if let missed = seen.missed[kind] {
                problems.append("\(name) was told that it missed \(missed) \(kind), and it missed none")
            }
        }
        let retained = (host.before[name]?[.state] ?? 0) > 0 ? [0] : []
        if seen.retained != retained {
            problems.append("\(name) received \(seen.retained) as retained values, not \(retained)")
        }
    }

    private mutating func checkTicks(of name: String, _ seen: Observations, _ host: DemoHost) {
        if seen.runs.map(\.run) != host.ticks.keys.sorted() {
            problems.append("\(name) did not receive all loops in order")
        }
        for run in seen.runs {
            if run.miscounted > 0 {
                problems.append(
                    "\(name) was told \(counted(run.miscounted, "wrong number")) of missed ticks in loop \(run.run)")
            }
            let total = run.received + run.missed
            if let posted = host.ticks[run.run], !posted.contains(total) {
                problems.append(
                    "\(name) received \(run.received) and missed \(run.missed) of \(posted) ticks in loop \(run.run)")
            }
        }
    }

    private static func table(_ host: DemoHost, killed: [Kind: Int]) -> String {
        var rows = [["observer", "delivered", "missed", "disordered", "latency p50", "max", "200 KB p50"]]
        for name in ["host", "lyrics", "scrobbler"] {
            guard let seen = host.reports[name] else { continue }
            let small = (seen.latencies[.track, default: []] + seen.latencies[.state, default: []]).sorted()
            let large = seen.latencies[.artwork, default: []].sorted()
            rows.append([
                name == "lyrics" ? "lyrics (restarted)" : name, seen.delivered.grouped, seen.allMissed.grouped,
                seen.allDisordered.grouped, median(small), small.last.map(duration) ?? "–", median(large),
            ])
        }
        rows.append(["lyrics (killed)", killed.values.reduce(0, +).grouped, "–", "–", "–", "–", "–"])
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            "\n"
                + row.enumerated().map { $0 == 0 ? $1.padded(to: widths[$0]) : $1.aligned(to: widths[$0]) }
                .joined(separator: "  ")
        }.joined()
    }

    private static func median(_ sorted: [UInt64]) -> String {
        sorted.isEmpty ? "–" : duration(sorted[sorted.count / 2])
    }
}
