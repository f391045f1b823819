import ArgumentParser
import CTidingsBench
import Foundation

/// The second process of a measurement.
struct BenchPeer: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-peer", abstract: "A process of the benchmark.", shouldDisplay: false)

    enum Role: String, ExpressibleByArgument {
        case line, futex, ring, follow, lossless, pingpongAsleep, pingpongAwake, sleep
    }

    /// The name of the notifications that posters post and followers observe.
    static let name = "bench"
    static let slots: UInt32 = 4096

    @Argument var role: Role
    @Argument var parent: Int32
    @Argument var arena: String
    @Argument var processor: Int32
    @Argument var center: String

    func run() throws {
        bench_die_with(parent)
        // This process has inherited its parent's affinity, a single processor. Widen it before pinning.
        let all = [Int32](0..<1024)
        bench_pin_any(all, 1024)
        if role == .pingpongAsleep || role == .pingpongAwake { try check(bench_introduce(), "can't open a center") }
        bench_pin(processor)
        var opened: OpaquePointer?
        try check(bench_arena_open(arena, false, &opened), "can't open \(arena)")
        try check(try play(opened!), "the benchmark's other process")
    }

    private func play(_ arena: OpaquePointer) throws -> Int32 {
        switch role {
        case .line: bench_peer_line(arena, false)
        case .futex: bench_peer_futex(arena, 0)
        case .ring: bench_peer_ring(arena, Self.slots, 0)
        case .follow: return bench_peer_follow(arena, center, Self.name)
        case .lossless: return bench_peer_lossless(arena, center, 1)
        case .pingpongAsleep: return bench_peer_pingpong(arena, center, 0, 0)
        case .pingpongAwake: return bench_peer_pingpong(arena, center, .max, 0)
        case .sleep: return bench_peer_sleep(arena, center, Self.name)
        }
        return 0
    }
}
