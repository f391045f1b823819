import CTidingsBench
import Foundation
import Tidings

/// The five-field struct of the requirements: it travels as CBOR.
struct Track: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.player.track"

    /// Of a pong: how many ticks its poster held it back.
    var held: UInt64
    var title = "So What, the second take"
    var artist = "Miles Davis, John Coltran"
    /// Counts, so that nothing lost or doubled goes unnoticed.
    var position: Double
    /// `false`: the last one.
    var isPlaying = true
}

/// 32 bytes that travel as they are.
struct Meter: SharedNotificationCenter.BitwiseMessage {
    static let name: SharedNotificationCenter.Name = "com.example.player.meter"

    var number: UInt64
    var left = 0.25
    var right = 0.5
    var peak = 0.75
}

/// How two processes play tracks to each other.
struct TrackPace {
    /// How long each holds on before it answers, in nanoseconds. It doesn't count.
    var hold: UInt64 = 0
    /// Whether observers may look around for a moment before they sleep. They never do where there is one processor.
    var spins = false
    var count = 0

    /// As a peer's argument.
    var detail: Int { Int(hold) | (spins ? 1 << 32 : 0) | count << 33 }

    init(hold: UInt64 = 0, spins: Bool = false, count: Int) {
        self.hold = hold
        self.spins = spins
        self.count = count
    }

    init(_ detail: Int) {
        hold = UInt64(detail & 0xffff_ffff)
        spins = detail & 1 << 32 != 0
        count = detail >> 33
    }
}

/// Side B: answers every track with a track, closure to post, and tells in it how long it held on.
enum TrackPong {
    static func run(_ arena: OpaquePointer, center name: String, _ pace: TrackPace) throws {
        bench_calibrate()
        let pings = try SharedNotificationCenter(named: "\(name)-ping")
        let pongs = try SharedNotificationCenter(named: "\(name)-pong")
        let end = DispatchSemaphore(value: 0)
        let token = try pings.addObserver(for: Track.self) { (track: Track) in
            guard track.isPlaying else {
                end.signal()
                return
            }
            let held = pace.hold > 0 ? bench_hold(pace.hold) : 0
            do {
                try pongs.post(Track(held: held, position: track.position))
            } catch {
                note("\(error)")
                exit(1)
            }
        }
        bench_arena_ready(arena)
        end.wait()
        token.cancel()
    }
}

/// Side A: posts a track, gets one, and takes half of the time between, less what side B held on. A peer too, so that
/// it can be confined to one processor from its beginning.
///
/// `@unchecked Sendable`: the initial thread and the dispatcher thread's closure use it by turns only, each post
/// handing it over to the closure that gets the answer; `failure` is read after `end`.
final class TrackPing: @unchecked Sendable {
    private let pings, pongs: SharedNotificationCenter
    private let pace: TrackPace
    private let samples: UnsafeMutablePointer<UInt64>
    private let end = DispatchSemaphore(value: 0)
    private var number: Int
    private var posted: UInt64 = 0
    private var failure: (any Error)?

    init(center name: String, _ pace: TrackPace, _ arena: OpaquePointer) throws {
        bench_calibrate()
        pings = try SharedNotificationCenter(named: "\(name)-ping")
        pongs = try SharedNotificationCenter(named: "\(name)-pong")
        self.pace = pace
        samples = bench_arena_samples(arena)
        number = -pace.count / 10  // the first tenth is warm-up
    }

    func run() throws {
        let token = try pongs.addObserver(for: Track.self) { [self] (track: Track) in answered(track) }
        post()
        end.wait()
        token.cancel()
        if let failure { throw failure }
    }

    private func answered(_ track: Track) {
        let ticks = bench_ticks() - posted - track.held
        if track.position != Double(number) {
            return fail(BenchError("track \(track.position) in place of \(number)"))
        }
        if number >= 0 { samples[number] = bench_picoseconds(ticks) / 2 }
        number += 1
        post()
    }

    private func post() {
        if pace.hold > 0 { bench_hold(pace.hold) }
        posted = bench_ticks()
        do {
            try pings.post(Track(held: 0, position: Double(number), isPlaying: number < pace.count))
            if number == pace.count { end.signal() }
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: any Error) {
        failure = error
        end.signal()
    }
}
