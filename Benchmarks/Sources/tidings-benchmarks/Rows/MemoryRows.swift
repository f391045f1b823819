import CCrossing
import CTidingsBench
import Foundation

/// What memory it takes, in KiB.
enum MemoryRows {
    static let all: [Row] = [
        Row(
            id: "memory-center", title: "memory of a default center, KiB", limitTitle: "its slots alone",
            requirement: .count(4096, of: "KiB"), processors: 1
        ) { bench, alternate in
            let measure = { try Center.memory(bench, center: bench.name("memory")) }
            try alternate({ kibibytes(try measure().slots) }, { kibibytes(try measure().center) })
        },
        Row(
            id: "memory-observer", title: "of an observing process, its own, KiB", limitTitle: "nothing",
            requirement: .count(128, goal: 64, of: "KiB"), processors: 1
        ) { bench, alternate in
            let center = bench.name("memory")
            // Another participant has every page too, so that none of the center's counts as the observer's own.
            let poster = try Poster(center: center)
            try withExtendedLifetime(poster) {
                try alternate({ kibibytes(0) }, { try observer(bench, center: center) })
            }
        },
        program(
            "memory-library", "a Swift program that observes, its own, KiB", beyond: "bare-footprint",
            "beyond a bare one", .count(1024, of: "KiB"), \.own),
        program(
            "memory-library-resident", "the same, with libraries' and center's pages", beyond: "bare-footprint",
            "beyond a bare one", .count(8192, goal: 1024, of: "KiB"), \.resident),
        program(
            "memory-library-essentials", "the same, Foundation's apart", beyond: "essentials-footprint",
            "beyond FoundationEssentials", .count(3072, goal: 1024, of: "KiB"), \.resident),
    ]

    private static func kibibytes(_ bytes: UInt64) -> Round { Round(counted: bytes / 1024) }

    private static func observer(_ bench: Bench, center: String) throws -> Round {
        try bench.withArea { area in
            try bench.finish(try bench.enlist(.observerMemory, area, center: center, cores: [bench.there]))
            return kibibytes(area.value(1) - min(area.value(0), area.value(1)))
        }
    }

    /// Ours is what a program that observes has beyond another, both just started.
    private static func program(
        _ id: String, _ title: String, beyond bare: String, _ limitTitle: String, _ requirement: Requirement,
        _ part: @escaping @Sendable (Footprint) -> UInt64
    ) -> Row {
        Row(id: id, title: title, limitTitle: limitTitle, requirement: requirement, processors: 1) { bench, alternate in
            var without: UInt64 = 0
            try alternate(
                {
                    without = part(try Footprint(program: bare))
                    return Round(counted: without)
                },
                {
                    let with = part(try Footprint(program: "tidings-footprint"))
                    return Round(counted: with - min(without, with))
                })
        }
    }
}

/// What programs of this package say how much memory they take, in KiB. They stand beside this one.
struct Footprint {
    /// Memory of the process's own; pages of files, which processes share; shared memory.
    let own, files, shared: UInt64

    var resident: UInt64 { own + files + shared }

    init(program: String) throws {
        let process = Process()
        let output = Pipe()
        let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: link).deletingLastPathComponent().appendingPathComponent(program)
        process.standardOutput = output
        do {
            try process.run()
        } catch {
            throw BenchError("\(program) isn't beside this program: build the whole package")
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let numbers = text.trimmingCharacters(in: .whitespacesAndNewlines).split(separator: " ").compactMap {
            UInt64($0)
        }
        guard numbers.count == 3 else { throw BenchError("\(program) said \"\(text)\"") }
        (own, files, shared) = (numbers[0], numbers[1], numbers[2])
    }
}
