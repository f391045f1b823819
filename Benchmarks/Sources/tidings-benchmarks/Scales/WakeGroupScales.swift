import CCrossing
import CTidingsBench
import Foundation

/// What it costs that others are there: woken by a post, or asleep on other names.
enum WakeGroupScales {
    static let all: [Scale] = [
        Scale(
            id: "fan-out", title: "A post to so many sleeping processes", parameter: "processes asleep on the name",
            figure: "ns",
            curves: ["the last runs", "FUTEX_WAKE: the last runs", "the post takes", "FUTEX_WAKE takes"],
            values: [1, 2, 4, 8, 16, 32, 64, 128, 256], processors: 1
        ) { bench, processes, alternate in
            try Wake.withWakeGroups(bench, processes: processes) { wake in
                try alternate([
                    { try wake.ours(bench, own: false) }, { try wake.limit(bench, own: false) },
                    { try wake.ours(bench, own: true) }, { try wake.limit(bench, own: true) },
                ])
            }
        },
        asleep(
            "names", "A post in a center with many names", "names registered", .names,
            [1, 10, 100, 1000, 10_000, 100_000]
        ) {
            _ in 1
        },
        asleep(
            "observers", "A post while observers of other names sleep", "observers asleep", .threads,
            [1, 4, 16, 64, 256, 1000]
        ) { _ in 1 },
        asleep(
            "processes", "A post while processes sleep on other names", "processes asleep", .sleepers,
            [1, 4, 16, 64, 256, 400]
        ) { $0 },
    ]

    /// `ready`: how many members say that they are.
    private static func asleep(
        _ id: String, _ title: String, _ parameter: String, _ role: Member.Role, _ values: [Int],
        ready: @escaping @Sendable (Int) -> Int
    ) -> Scale {
        Scale(
            id: id, title: title, parameter: parameter, figure: "ns a post of 64 B",
            curves: ["post", "in an empty center"],
            values: values, processors: 1
        ) { bench, number, alternate in
            try PayloadScales.withCenter(bench, id) { center in
                let poster = try Poster(center: center)
                let alone = try Poster(center: bench.name("alone"))
                let sleeping = role == .names ? 1 : number
                try bench.withArea { area in
                    try bench.withMember(
                        role, area, center: center, detail: number, count: ready(number), cores: bench.away
                    ) {
                        let end = ContinuousClock.now + .seconds(20)
                        while poster.asleep < sleeping, ContinuousClock.now < end { usleep(1000) }
                        try alternate([
                            { try poster.post(bench, size: 64, count: 2000) },
                            { try alone.post(bench, size: 64, count: 2000) },
                        ])
                        let still = poster.asleep
                        guard still == sleeping else { throw BenchError("\(still) of \(sleeping) still asleep") }
                    }
                }
            }
        }
    }
}
