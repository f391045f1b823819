import ArgumentParser
import CTidingsBench
import Foundation

/// Side B of a measurement. Started by the runner only.
struct Peer: ParsableCommand {
    static let configuration = CommandConfiguration(shouldDisplay: false)

    enum Role: String, ExpressibleByArgument, CaseIterable {
        case line, futex, ring, follow, pingpong, call, lossless, sleep, systemCalls
        case trackPing, trackPong, trackCall, trackServe

        var isTrack: Bool { self == .trackPing || self == .trackPong }
    }

    @Argument var role: Role
    @Argument var parent: Int32
    @Argument var arena: String
    @Argument var cores: String
    @Argument var center: String
    @Argument var detail: Int

    func run() throws {
        bench_die_with(parent)
        // Peers inherit the runner's one core.
        var all = [Int32](0..<1024)
        bench_pin_any(&all, 1024)
        if role == .pingpong || role == .call || role.isTrack && TrackPace(detail).spins { bench_introduce() }
        let cores = cores.split(separator: ",").compactMap { Int32($0) }
        bench_pin_any(cores, Int32(cores.count))
        var opened: OpaquePointer?
        let code = bench_arena_open(arena, false, &opened)
        guard let opened, code == 0 else { throw BenchError(code: Int(code), during: "can't open \(arena)") }
        let result = Int(try play(opened))
        guard result >= 0 else { throw BenchError(code: result, during: "peer \"\(role)\"") }
    }

    private func play(_ arena: OpaquePointer) throws -> Int32 {
        switch role {
        case .line: bench_peer_line(arena, detail == 2)
        case .futex: bench_peer_futex(arena, UInt64(detail))
        case .trackPing: try TrackPace(detail).ping(center: center, arena)
        case .trackPong: try TrackPace(detail).pong(center: center, arena)
        case .trackCall: try TrackCall.call(center: center, count: detail, arena)
        case .trackServe: try TrackCall.serve(center: center, arena)
        case .ring: bench_peer_ring(arena, UInt32(detail >> 8), UInt32(detail & 0xff))
        case .follow: return bench_peer_follow(arena, center, CenterRows.name)
        case .pingpong:
            return bench_peer_pingpong(arena, center, detail >= 1 << 32 ? .max : 0, UInt64(detail & 0xffff_ffff))
        case .call: return bench_peer_call(arena, center, detail == 0 ? 0 : .max)
        case .lossless: return bench_peer_lossless(arena, center, Int32(detail))
        case .sleep: return bench_peer_sleep(arena, center, "other-\(detail)")
        case .systemCalls:
            let counted = bench_count_system_calls(center, CenterRows.name, Int32(detail))
            guard counted >= 0 else { return Int32(counted) }
            bench_arena_count(arena, UInt64(counted), 0, 0)
        }
        return 0
    }
}
