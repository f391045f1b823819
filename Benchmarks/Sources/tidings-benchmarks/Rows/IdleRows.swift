import CCrossing
import CTidingsBench
import Foundation

/// Observers that sleep do nothing at all: neither a timer nor a watchdog wakes them.
enum IdleRows {
    private static let processes = 100

    static let all: [Row] = [
        row("idle", "\(processes) observers asleep, C: context switches", swift: false, cpu: false),
        row("idle-cpu", "the same: CPU time of all, ns", swift: false, cpu: true),
        row("idle-swift", "\(processes) observers asleep, Swift: context switches", swift: true, cpu: false),
        row("idle-swift-cpu", "the same: CPU time of all, ns", swift: true, cpu: true),
    ]

    private static func row(_ id: String, _ title: String, swift: Bool, cpu: Bool) -> Row {
        Row(id: id, title: title, limitTitle: "as many in FUTEX_WAIT", requirement: .zero, processors: 1) {
            bench, alternate in
            // Both at the same time, and once: every round has the same figures.
            let (limit, ours) = try bench.idle[swift] ?? idle(bench, swift: swift)
            bench.idle[swift] = (limit, ours)
            try alternate(
                { Round(counted: cpu ? limit.nanoseconds : limit.switches) },
                { Round(counted: cpu ? ours.nanoseconds : ours.switches) })
        }
    }

    private static func idle(_ bench: Bench, swift: Bool) throws -> (limit: Activity, ours: Activity) {
        let center = bench.name("idle")
        return try bench.withArea { bare in
            try bench.withArea { observers in
                try bench.withMember(.waiters, bare, detail: processes, count: processes, cores: bench.all) {
                    var members: [Int32] = []
                    defer { members.forEach(bench.stop) }
                    if swift {
                        for index in 0..<processes {
                            members.append(
                                try bench.enlist(
                                    .swiftSleeper, observers, center: center, detail: index, cores: bench.all))
                        }
                    } else {
                        members.append(
                            try bench.enlist(.sleepers, observers, center: center, detail: processes, cores: bench.all))
                    }
                    try bench.muster(observers, members, count: processes)
                    let limited = (0..<processes).map { pid_t(bare.value(0, of: $0)) }
                    let observing = (0..<processes).map { pid_t(observers.value(0, of: $0)) }
                    sleep(1)  // until the last has lain down
                    let before = (try Activity(of: limited), try Activity(of: observing))
                    sleep(bench.quick ? 5 : 60)
                    return (try Activity(of: limited) - before.0, try Activity(of: observing) - before.1)
                }
            }
        }
    }
}

/// What processes have done so far, all their threads together, as the kernel says.
struct Activity {
    var switches: UInt64 = 0
    var nanoseconds: UInt64 = 0

    init(of processes: [pid_t]) throws {
        for process in processes {
            let tasks = "/proc/\(process)/task"
            for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
                let status = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
                for line in status.split(separator: "\n") where line.contains("ctxt_switches:") {
                    switches += line.split(separator: "\t").last.flatMap { UInt64($0) } ?? 0
                }
                let times = try String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8)
                nanoseconds += times.split(separator: " ").first.flatMap { UInt64($0) } ?? 0
            }
        }
    }

    static func - (now: Activity, before: Activity) -> Activity {
        var difference = now
        difference.switches -= before.switches
        difference.nanoseconds -= before.nanoseconds
        return difference
    }
}
