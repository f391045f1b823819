import ArgumentParser
import CCrossing
import CTidingsBench
import Foundation
import Tidings

/// One of the other processes of a measurement in an `Area`. Started by the runner only.
struct Member: ParsableCommand {
    static let configuration = CommandConfiguration(shouldDisplay: false)

    enum Role: String, ExpressibleByArgument, CaseIterable {
        case copy, copyAsleep, copyAwake, rallyAsleep, rallyAwake, flowPoster, flowObserver, flowCaller, flowServer
        case sleepers, waiters, threads, names, wokenBare, woken, swiftSleeper
        case open, create, limitOpen, limitCreate, observerMemory
        case deaths, trackCaller

        var isOfFlow: Bool { [.flowPoster, .flowObserver, .flowCaller, .flowServer].contains(self) }
    }

    @Argument var role: Role
    @Argument var parent: Int32
    @Argument var path: String
    @Argument var cores: String
    @Argument var center: String
    @Argument var detail: Int

    func run() throws {
        bench_die_with(parent)
        // Members inherit the runner's one core. The library is to see all of them before this one is confined, or else
        // observers that are to spin don't.
        var all = [Int32](0..<1024)
        bench_pin_any(&all, 1024)
        if role == .rallyAwake || role.isOfFlow { bench_introduce() }
        let cores = cores.split(separator: ",").compactMap { Int32($0) }
        bench_pin_any(cores, Int32(cores.count))
        if role == .deaths { bench_calibrate() }
        let area = try Area(path: path, create: false)
        let result = Int(try play(area.pointer))
        guard result >= 0 else { throw BenchError(code: result, during: "member \"\(role)\"") }
    }

    private func play(_ area: OpaquePointer) throws -> Int32 {
        let count = UInt32(truncatingIfNeeded: detail)
        switch role {
        case .copy: return crossing_peer_copy(area, detail >> 16, count & 0xffff)
        case .copyAsleep: return crossing_peer_copy_pingpong(area, detail, false)
        case .copyAwake: return crossing_peer_copy_pingpong(area, detail, true)
        case .rallyAsleep: return crossing_peer_rally(area, center, detail == 1, 0)
        case .rallyAwake: return crossing_peer_rally(area, center, detail == 1, .max)
        case .flowPoster: return crossing_flow_post(area, center, count)
        case .flowObserver: return crossing_flow_observe(area, center, count)
        case .flowCaller: return crossing_calls_call(area, center, count)
        case .flowServer: return crossing_calls_serve(area, center, count)
        case .sleepers: return crossing_wake_group_sleep(area, center, count)
        case .waiters: return crossing_wake_group_wait(area, count)
        case .threads: return crossing_threads_sleep(area, center, count)
        case .names: return crossing_names_sleep(area, center, count)
        case .wokenBare: return crossing_wake_group_woken_bare(area, count)
        case .woken: return crossing_wake_group_woken(area, center, count)
        case .swiftSleeper:
            try sleep(area)
            return 0
        case .open: return note(area) { crossing_fresh_open(center, $0) }
        case .create: return note(area) { crossing_fresh_create(center, $0) }
        case .limitOpen: return note(area) { crossing_limit_open(center, $0) }
        case .limitCreate: return note(area) { crossing_limit_create(center, detail, $0) }
        case .deaths: return crossing_deaths(area, center, count >> 16, count & 0xffff)
        case .trackCaller:
            try TrackCall.callServersThatEnd(center: center, count: detail, area)
            return 0
        case .observerMemory: return note(area) { crossing_observer_memory(center, $0) }
        }
    }

    private func note(_ area: OpaquePointer, _ body: (UnsafeMutablePointer<UInt64>) -> Int32) -> Int32 {
        var values = [UInt64](repeating: 0, count: CROSSING_VALUES)
        let result = body(&values)
        for (index, value) in values.enumerated() { crossing_set_value(area, 0, UInt32(index), value) }
        return result
    }

    private func sleep(_ area: OpaquePointer) throws {
        let center = try SharedNotificationCenter(named: center)
        let token = try center.addObserver(for: Meter.self, options: .init(subject: "sleeper-\(detail)")) {
            (_: Meter) in
        }
        crossing_set_value(area, UInt32(detail), 0, UInt64(getpid()))
        crossing_ready(area)
        withExtendedLifetime(token) { while true { pause() } }
    }
}
