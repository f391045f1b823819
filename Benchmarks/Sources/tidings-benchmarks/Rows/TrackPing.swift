import CTidingsBench
import Foundation
import Tidings

/// Side A: posts a ball, gets one, and takes half of the time between, less what side B held on. A peer too, so that
/// it can be confined to one processor from its beginning.
///
/// `@unchecked Sendable`: the initial thread and the dispatcher thread's closure (or the task) use it by turns only.
/// Each post hands it over to the receiver of the answer. `failure` is read after `end`.
final class TrackPing<B: Ball>: @unchecked Sendable {
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
        if pace.awaits {
            Task { await playAll() }
            end.wait()
        } else {
            let token = try pongs.addObserver(for: B.self) { [self] (ball: B) in answered(ball) }
            post()
            end.wait()
            token.cancel()
        }
        if let failure { throw failure }
    }

    private func playAll() async {
        var balls = pongs.messages(of: B.self).makeAsyncIterator()
        post()
        while number < pace.count, failure == nil, let ball = await balls.next() { answered(ball) }
    }

    private func answered(_ ball: B) {
        let ticks = bench_ticks() - posted - ball.held
        if ball.position != Double(number) {
            return fail(BenchError("ball \(ball.position) in place of \(number)"))
        }
        if number >= 0 { samples[number] = bench_picoseconds(ticks) / 2 }
        number += 1
        post()
    }

    private func post() {
        if pace.hold > 0 { bench_hold(pace.hold) }
        posted = bench_ticks()
        do {
            try pings.post(B(held: 0, position: Double(number), isPlaying: number < pace.count))
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
