import CTidingsBench
import Foundation
import Tidings

/// Tidings through its Swift API.
enum SwiftRows {
    /// Long enough for a core to be idle, and for its caches to be filled by other work.
    static let hold: UInt64 = 100_000
    private static let batch = 256

    static let all: [Row] = [
        latency("asleep-swift", "asleep, Swift, five fields, post to closure", .ratio(1.5, goal: 1.25)),
        latency("asleep-swift-held", "the same, each held for 100 µs", hold: hold, .none),
        latency("asleep-swift-await", "asleep, Swift, five fields, to for await", awaits: true, .ratio(3, goal: 2)),
        call("call-swift", "half a call, Swift, five fields in and out", .ratio(1.6)),
        latency("adaptive-swift", "the same as it comes (may spin 20 µs)", spins: true, .none),
        latency(
            "awake-swift-bitwise", "awake, Swift, bitwise, post to closure", spins: true, bitwise: true,
            againstLine: true,
            .ratio(10, goal: 4)),
        latency(
            "awake-swift", "awake, Swift, five fields, post to closure", spins: true, againstLine: true,
            .ratio(30, goal: 4)),
        post("swift-post", "post, Swift, five fields, no observer", .nanoseconds(400)) {
            Track(held: 0, position: $0)
        },
        post(
            "swift-post-generated", "post, Swift, five fields, coder of @Message, no observer",
            .nanoseconds(120, goal: 80)
        ) {
            GeneratedTrack(number: 0, position: $0)
        },
        post("swift-post-bitwise", "post, Swift, bitwise, no observer", .nanoseconds(60)) {
            Meter(number: 0, left: $0)
        },
        Row(
            id: "swift-post-in-place-1m", title: "post, Swift, 1 MiB, built in place",
            limitTitle: "built in an array, and copied", requirement: .none, processors: 1
        ) { bench, alternate in
            let center = try SharedNotificationCenter(named: bench.name("swift"))
            center.onDiagnostic = { _ in }  // These are more posts of that size than a program should make.
            let (size, count) = (1 << 20, bench.count(100))
            let copied = {
                try Round("post", count: count) { samples in
                    try timed(samples, count: count, batch: 1) { _ in
                        let bytes = [UInt8](repeating: 1, count: size)
                        try center.post(name: "bytes", payload: .init(format: .bytes, bytes: bytes))
                    }
                }
            }
            let inPlace = {
                try Round("post", count: count) { samples in
                    try timed(samples, count: count, batch: 1) { _ in
                        try center.post(name: "bytes", capacity: size) { output in
                            output.append(repeating: 1, count: size, as: UInt8.self)
                        }
                    }
                }
            }
            try alternate(copied, inPlace)
        },
        decode("swift-decode", "decode, Swift, five fields", .nanoseconds(600, goal: 450)) { _ in
            (try SharedNotificationCenter.RawPayload(encoding: Track(held: 0, position: 1)), Track.self)
        },
        decode("swift-decode-generated", "decode, Swift, five fields, coder of @Message", .nanoseconds(240, goal: 160))
        { _ in
            (
                try SharedNotificationCenter.RawPayload(encoding: GeneratedTrack(number: 0, position: 1)),
                GeneratedTrack.self
            )
        },
        decode("swift-decode-bitwise", "decode, Swift, bitwise", .nanoseconds(60)) { bench in
            let center = try SharedNotificationCenter(named: bench.name("payload"))
            try center.post(Meter(number: 1), options: .init(retain: true))
            guard let payload = try center.rawState(for: Meter.name) else { throw BenchError("nothing was retained") }
            return (payload, Meter.self)
        },
        delivery("swift-delivery-bitwise", "delivery to a closure, bitwise", .nanoseconds(60)) {
            Meter(number: 0, left: $0)
        },
        delivery("swift-delivery", "delivery to a closure, five fields", .none) {
            Track(held: 0, position: $0)
        },
    ]

    private static func call(_ id: String, _ title: String, _ requirement: Requirement) -> Row {
        Row(id: id, title: title, limitTitle: "futex, both asleep", requirement: requirement, processors: 1) {
            bench, alternate in
            let center = bench.name("call-swift")
            let count = bench.count(8000)
            let ours = {
                try bench.withPeer(.trackServe, center: center, detail: count) { arena, path in
                    try bench.runPeer(.trackCall, arena: path, center: center, detail: count)
                    return try Round("calls", count: count) {
                        $0.update(from: bench_arena_samples(arena), count: count)
                        return Int32(count)
                    }
                }
            }
            try alternate({ try Limit.futex(bench, hold: 0) }, ours)
        }
    }

    private static func latency(
        _ id: String, _ title: String, hold: UInt64 = 0, spins: Bool = false, awaits: Bool = false,
        bitwise: Bool = false,
        againstLine: Bool = false, _ requirement: Requirement
    ) -> Row {
        Row(
            id: id, title: title, limitTitle: againstLine ? "cache line, spinning" : "futex, both asleep",
            requirement: requirement, processors: spins ? 2 : 1
        ) { bench, alternate in
            let center = bench.name("track")
            let count = bench.count(hold > 0 ? 1000 : 8000)
            let pace = TrackPace(hold: hold, spins: spins, awaits: awaits, bitwise: bitwise, count: count)
            let ours = {
                try bench.withPeer(.trackPong, center: center, detail: pace.detail) { arena, path in
                    try bench.runPeer(.trackPing, arena: path, center: center, detail: pace.detail)
                    return try Round("ping-pong", count: pace.count) {
                        $0.update(from: bench_arena_samples(arena), count: pace.count)
                        return Int32(pace.count)
                    }
                }
            }
            try alternate({ againstLine ? try Limit.line(bench) : try Limit.futex(bench, hold: hold) }, ours)
        }
    }

    private static func post<M: SharedNotificationCenter.Message>(
        _ id: String, _ title: String, _ requirement: Requirement, _ make: @escaping @Sendable (Double) -> M
    ) -> Row {
        Row(id: id, title: title, limitTitle: "C post, 64 B", requirement: requirement, processors: 1) {
            bench, alternate in
            let center = try SharedNotificationCenter(named: bench.name("swift"))
            let poster = try Poster(center: bench.name("alone"))
            let count = bench.count(2000)
            for index in 0..<10_000 { try center.post(make(Double(index))) }
            let ours = {
                try Round("post", count: count) { samples in
                    try timed(samples, count: count) { try center.post(make($0)) }
                }
            }
            try alternate({ try poster.post(bench, size: 64, count: 4000) }, ours)
        }
    }

    private static func decode<M: SharedNotificationCenter.Message>(
        _ id: String, _ title: String, _ requirement: Requirement,
        _ make: @escaping @Sendable (Bench) throws -> (SharedNotificationCenter.RawPayload, M.Type)
    ) -> Row {
        Row(id: id, title: title, limitTitle: "C next, 64 B", requirement: requirement, processors: 1) {
            bench, alternate in
            let name = bench.name("drain")
            let (payload, type) = try make(bench)
            let count = bench.count(1000)
            let ours = {
                try Round("decode", count: count) { samples in
                    try timed(samples, count: count) { _ in withExtendedLifetime(try payload.decode(type)) {} }
                }
            }
            try alternate({ try drain(bench, center: name) }, ours)
        }
    }

    /// Bitwise messages are decoded on their way to the closure only; what the C API needs for its part can be left
    /// out.
    private static func delivery<M: SharedNotificationCenter.Message>(
        _ id: String, _ title: String, _ requirement: Requirement, _ make: @escaping @Sendable (Double) -> M
    ) -> Row {
        Row(id: id, title: title, limitTitle: "C next, 64 B", requirement: requirement, processors: 1) {
            bench, alternate in
            let name = bench.name("drain")
            let drain = try Drain(center: bench.name("delivery"), make)
            let count = bench.count(100)
            let ours = { try Round("delivery", count: count) { try drain.run($0, count: count) } }
            try alternate({ try Self.drain(bench, center: name) }, ours)
        }
    }

    private static func drain(_ bench: Bench, center: String) throws -> Round {
        let count = bench.count(400)
        return try Round("drain", count: count) { bench_drain(center, 64, $0, Int32(count), 1000) }
    }

    private static func timed(
        _ samples: UnsafeMutablePointer<UInt64>, count: Int, batch: Int = batch, _ body: (Double) throws -> Void
    ) throws -> Int32 {
        for index in -count / 10..<count {
            let start = bench_ticks()
            for step in 0..<batch { try body(Double(step)) }
            if index >= 0 { samples[index] = bench_picoseconds(bench_ticks() - start) / UInt64(batch) }
        }
        return Int32(count)
    }
}

/// Times an observer that finds a thousand notifications waiting: the first closure holds its thread until all are
/// posted.
///
/// `@unchecked Sendable`: `first` and `last` belong to the dispatcher thread until `done`.
final class Drain<M: SharedNotificationCenter.Message>: @unchecked Sendable {
    private let center: SharedNotificationCenter
    private let make: @Sendable (Double) -> M
    private let posted = DispatchSemaphore(value: 0)
    private let done = DispatchSemaphore(value: 0)
    private let batch = 1000
    private var delivered = 0
    private var first: UInt64 = 0
    private var last: UInt64 = 0

    init(center name: String, _ make: @escaping @Sendable (Double) -> M) throws {
        center = try SharedNotificationCenter(named: name)
        self.make = make
    }

    func run(_ samples: UnsafeMutablePointer<UInt64>, count: Int) throws -> Int32 {
        let token = try center.addObserver(for: M.self) { [self] (_: M) in arrived() }
        for index in 0..<count {
            for step in 0...batch { try center.post(make(Double(step))) }
            posted.signal()
            guard done.wait(timeout: .now() + 10) == .success else { throw BenchError("not all were delivered") }
            samples[index] = bench_picoseconds(last - first) / UInt64(batch)
        }
        token.cancel()
        return Int32(count)
    }

    private func arrived() {
        if delivered == 0 {
            posted.wait()
            first = bench_ticks()
        }
        delivered += 1
        if delivered > batch {
            last = bench_ticks()
            delivered = 0
            done.signal()
        }
    }
}
