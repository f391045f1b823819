import CCrossing
import CTidingsBench
import Foundation
import Tidings

/// The five-field struct as a request, and as its reply.
struct TrackCall: SharedNotificationCenter.Request {
    typealias Reply = Track

    static let name = SharedNotificationCenter.Name(CROSSING_DEATH_NAME)

    var number: UInt64
    var title = "So What, the second take"
    var artist = "Miles Davis, John Coltran"
    var position: Double
    var isPlaying = true

    /// Side A: makes calls one after the other, and takes half of each one's time. A peer too, so that it can be
    /// confined to one processor from its beginning.
    static func call(center name: String, count: Int, _ arena: OpaquePointer) throws {
        bench_calibrate()
        let center = try SharedNotificationCenter(named: name)
        let samples = UInt(bitPattern: bench_arena_samples(arena))
        try waitFor {
            let samples = UnsafeMutablePointer<UInt64>(bitPattern: samples)!
            // The first tenth is warm-up.
            for number in -count / 10..<count {
                let start = bench_ticks()
                let reply = try await center.request(TrackCall(number: 0, position: Double(number)))
                let ticks = bench_ticks() - start
                guard reply.position == Double(number) else {
                    throw BenchError("reply \(reply.position) in place of \(number)")
                }
                if number >= 0 { samples[number] = bench_picoseconds(ticks) / 2 }
            }
            // Side B ends with it, perhaps before it has replied.
            _ = try? await center.request(TrackCall(number: 0, position: 0, isPlaying: false))
        }
    }

    /// The caller of `crossing_deaths`: of each server a call, which the server does not reply to.
    static func callServersThatEnd(center name: String, count: Int, _ area: OpaquePointer) throws {
        let center = try SharedNotificationCenter(named: name)
        let area = UInt(bitPattern: area)
        try waitFor {
            let area = OpaquePointer(bitPattern: area)!
            crossing_ready(area)
            for turn in 1...UInt32(count) {
                let code = crossing_death_await_server(area, turn)
                guard code == 0 else { throw BenchError(code: Int(code), during: "server \(turn)") }
                do {
                    _ = try await center.request(TrackCall(number: 0, position: Double(turn)))
                    throw BenchError("server \(turn) has replied")
                } catch let error as SharedNotificationError where error.code == .serverEnded {
                    crossing_death_told(area, turn)
                }
            }
        }
    }

    /// Runs it in a task, and waits for its end.
    private static func waitFor(_ body: @escaping @Sendable () async throws -> Void) throws {
        let end = DispatchSemaphore(value: 0)
        let ended = Ended()
        Task {
            do {
                try await body()
            } catch {
                ended.error = error
            }
            end.signal()
        }
        end.wait()
        if let error = ended.error { throw error }
    }

    /// `@unchecked Sendable`: read after the task has signalled its end.
    private final class Ended: @unchecked Sendable {
        var error: (any Error)?
    }

    /// Side B: answers each call at once.
    static func serve(center name: String, _ arena: OpaquePointer) throws {
        let center = try SharedNotificationCenter(named: name)
        let end = DispatchSemaphore(value: 0)
        let server = try center.serve(TrackCall.self, options: .init(concurrency: 1)) { call, _ in
            if !call.isPlaying { end.signal() }
            return Track(held: call.number, position: call.position)
        }
        bench_arena_ready(arena)
        end.wait()
        server.cancel()
    }
}
