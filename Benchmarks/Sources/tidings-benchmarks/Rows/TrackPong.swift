import CTidingsBench
import Foundation
import Tidings

/// Side B: answers every ball with one, from delivery to post, and tells in it how long it held on.
///
/// `@unchecked Sendable`: everything is a constant, and the arena is made for several to use.
final class TrackPong<B: Ball>: @unchecked Sendable {
    private let pings, pongs: SharedNotificationCenter
    private let pace: TrackPace
    private let arena: OpaquePointer
    private let end = DispatchSemaphore(value: 0)

    init(center name: String, _ pace: TrackPace, _ arena: OpaquePointer) throws {
        bench_calibrate()
        pings = try SharedNotificationCenter(named: "\(name)-ping")
        pongs = try SharedNotificationCenter(named: "\(name)-pong")
        self.pace = pace
        self.arena = arena
    }

    func run() throws {
        if pace.awaits {
            Task { await answerAll() }
            end.wait()
        } else {
            let token = try pings.addObserver(for: B.self) { [self] (ball: B) in answer(ball) }
            bench_arena_ready(arena)
            end.wait()
            token.cancel()
        }
    }

    private func answerAll() async {
        var balls = pings.messages(of: B.self).makeAsyncIterator()
        bench_arena_ready(arena)
        while let ball = await balls.next() {
            answer(ball)
            if !ball.isPlaying { return }
        }
    }

    private func answer(_ ball: B) {
        guard ball.isPlaying else {
            end.signal()
            return
        }
        let held = pace.hold > 0 ? bench_hold(pace.hold) : 0
        do {
            try pongs.post(B(held: held, position: ball.position, isPlaying: true))
        } catch {
            note("\(error)")
            exit(1)
        }
    }
}
