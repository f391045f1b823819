import CTidingsBench
import Foundation
import Tidings

/// Foundation's own center, which stays within the process: what an API of this shape costs without any transport.
enum RivalFoundation {
    private static let batch = 256

    static let all: [Row] = [
        row("rival-foundation-message", "NotificationCenter, struct to closure") { observed in
            let token = NotificationCenter.default.addObserver(of: subject, for: Level.self) { (level: Level) in
                observed.count += level.number
            }
            return (
                { NotificationCenter.default.post(Level(number: 1), subject: subject) },
                { NotificationCenter.default.removeObserver(token) }
            )
        },
        row("rival-foundation-notification", "NotificationCenter, userInfo") { observed in
            let name = Notification.Name("com.example.player.level")
            let token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { notification in
                observed.count += notification.userInfo?["number"] as? Int ?? 0
            }
            return (
                { NotificationCenter.default.post(name: name, object: nil, userInfo: ["number": 1]) },
                { NotificationCenter.default.removeObserver(token) }
            )
        },
    ]

    private static let subject = RivalFoundationSubject()

    private static func row(
        _ id: String, _ limitTitle: String,
        _ observe:
            @escaping @MainActor @Sendable (Observed) -> (post: @MainActor () -> Void, end: @MainActor () -> Void)
    ) -> Row {
        Row(
            id: id, title: "post, Swift, bitwise, no observer", limitTitle: limitTitle, requirement: .noThroughput
        ) { bench, alternate in
            let center = try SharedNotificationCenter(named: bench.name("foundation"))
            let count = bench.count(2000)
            let observed = Observed()
            // Rows run on the initial thread.
            let (post, end) = MainActor.assumeIsolated { observe(observed) }
            defer { MainActor.assumeIsolated { end() } }
            let theirs = {
                observed.count = 0
                let round = try Round("NotificationCenter", count: count) {
                    // The main actor has it only as long as this closure runs, on the same thread.
                    nonisolated(unsafe) let samples = $0
                    return MainActor.assumeIsolated { timed(samples, count: count) { _ in post() } }
                }
                let expected = (count + count / 10) * batch
                guard observed.count == expected else { throw BenchError("\(observed.count) of \(expected) arrived") }
                return round
            }
            let ours = {
                try Round("post", count: count) { samples in
                    try timed(samples, count: count) { try center.post(Meter(number: 0, left: $0)) }
                }
            }
            try alternate(theirs, ours)
        }
    }

    private static func timed(
        _ samples: UnsafeMutablePointer<UInt64>, count: Int, _ body: (Double) throws -> Void
    ) rethrows -> Int32 {
        for index in -count / 10..<count {
            let start = bench_ticks()
            for step in 0..<batch { try body(Double(step)) }
            if index >= 0 { samples[index] = bench_picoseconds(bench_ticks() - start) / UInt64(batch) }
        }
        return Int32(count)
    }
}

/// `@unchecked Sendable`: everything here happens on the one thread that posts.
private final class Observed: @unchecked Sendable {
    var count = 0
}

final class RivalFoundationSubject: Sendable {}

private struct Level: NotificationCenter.MainActorMessage {
    typealias Subject = RivalFoundationSubject

    let number: Int
}
