import CTidingsBench
import Foundation
import Tidings

/// The five-field struct as a request, and as its reply.
struct TrackCall: SharedNotificationCenter.Request {
    typealias Reply = Track

    static let name: SharedNotificationCenter.Name = "com.example.player.call"

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
        let end = DispatchSemaphore(value: 0)
        let ended = Ended()
        Task {
            do {
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
