import CCrossing
import CTidingsBench
import Foundation

/// What a process pays that has just begun. Every sample is a process of its own.
enum FreshRows {
    /// What a member noted: ticks, then page faults.
    private enum Step: Int {
        case opening = 0
        case firstPost = 2
    }

    static let all: [Row] = [
        row("open", "open a center that is there", .limitOpen, .open, .opening, .nanoseconds(120_000, goal: 60_000)),
        row(
            "open-faults", "the same, page faults", .limitOpen, .open, .opening, faults: true,
            .count(40, goal: 20, of: "faults")),
        row(
            "create", "open a center that isn't there", .limitCreate, .create, .opening,
            .nanoseconds(800_000, goal: 400_000)),
        row(
            "first-post", "a process's first post, name included", .limitOpen, .open, .firstPost,
            .nanoseconds(40_000, goal: 20_000)),
        row(
            "first-post-faults", "the same, page faults", .limitOpen, .open, .firstPost, faults: true,
            .count(30, goal: 15, of: "faults")),
    ]

    private static func row(
        _ id: String, _ title: String, _ limit: Member.Role, _ ours: Member.Role, _ step: Step, faults: Bool = false,
        _ requirement: Requirement
    ) -> Row {
        let limitTitle =
            switch (limit, step) {
            case (.limitCreate, _): "make, back and map a file"
            case (_, .firstPost): "first touch of a page"
            default: "open and map a file"
            }
        return Row(id: id, title: title, limitTitle: limitTitle, requirement: requirement, processors: 1) {
            bench, alternate in
            let center = bench.name("fresh")
            let memory = try Center.memory(bench, center: center)
            let file = "\(bench.directory)/\(bench.name("file"))"
            guard FileManager.default.createFile(atPath: file, contents: Data(count: Int(memory.center))) else {
                throw BenchError("can't create \(file)")
            }
            defer { unlink(file) }
            let limited = { limit == .limitCreate ? bench.name(file) : file }
            let opened = { ours == .create ? bench.name("created") : center }
            try alternate(
                { try round(bench, limit, limited, detail: Int(memory.center), step, faults) },
                { try round(bench, ours, opened, detail: 0, step, faults) })
        }
    }

    private static func round(
        _ bench: Bench, _ role: Member.Role, _ center: () -> String, detail: Int, _ step: Step, _ faults: Bool
    ) throws -> Round {
        let count = bench.quick ? 4 : 10
        return try Round("fresh process", count: count) { samples in
            for index in 0..<count {
                samples[index] = try bench.withArea { area in
                    try bench.finish(
                        try bench.enlist(role, area, center: center(), detail: detail, cores: [bench.there]))
                    let value = area.value(step.rawValue + (faults ? 1 : 0))
                    return faults ? value * 1000 : bench_picoseconds(value)
                }
            }
            return Int32(count)
        }
    }
}

/// What a center takes.
enum Center {
    /// Bytes of memory of a default center, and of its slots alone.
    static func memory(_ bench: Bench, center: String) throws -> (center: UInt64, slots: UInt64) {
        var values = [UInt64](repeating: 0, count: CROSSING_VALUES)
        let code = crossing_center_memory(center, &values)
        guard code == 0 else { throw BenchError(code: Int(code), during: "can't open center \(center)") }
        return (values[0], values[2])
    }
}
