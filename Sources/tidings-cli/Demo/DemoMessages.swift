import Foundation
import Tidings

// What the demo's processes say to each other. `at` is `monotonicNow()` of the poster, for the latency.

/// The host to its extensions: several fields of different types.
struct TrackChanged: Center.Message {
    static let name: Center.Name = "tidings.demo.trackChanged"
    var number: Int
    var title: String
    var artist: String
    var duration: Double
    var isFavourite: Bool
    var at: UInt64
}

/// The host to its extensions: large.
struct ArtworkChanged: Center.Message {
    static let name: Center.Name = "tidings.demo.artworkChanged"
    var number: Int
    var pixels: Data
    var checksum: UInt64
    var at: UInt64

    static let size = 200_000

    init(number: Int) {
        self.number = number
        var seed = UInt64(number) &+ 1
        pixels = Data(
            (0..<Self.size).map { _ in
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: seed >> 56)
            })
        checksum = Self.checksum(of: pixels)
        at = 0
    }

    var isIntact: Bool { pixels.count == Self.size && Self.checksum(of: pixels) == checksum }

    private static func checksum(of data: Data) -> UInt64 {
        // FNV-1a.
        data.withUnsafeBytes { $0.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }
    }
}

/// The host to its extensions, retained: who registers later gets the last one.
struct PlayerState: Center.Message {
    static let name: Center.Name = "tidings.demo.playerState"
    var number: Int
    var isPlaying: Bool
    var volume: Double
    var queue: [String]
    var at: UInt64
}

/// Posted in tight loops, by posters that are killed, and over an observer that is stopped. Plain memory, nothing to encode.
struct Tick: Center.BitwiseMessage {
    static let name: Center.Name = "tidings.demo.tick"
    /// Which loop: one poster each.
    var run: Int64
    /// 0, 1, 2 … in the loop.
    var number: Int64
    /// 0; 1 for one that extensions answer; 2 for the one that the host posts when the loop has ended, which has no number.
    var mark: Int64 = 0

    var wantsAnswer: Bool { mark == 1 }
    var isEnd: Bool { mark == 2 }

    static func end(of run: Int64) -> Tick { Tick(run: run, number: 0, mark: 2) }
}

/// The host to its extensions: that was all.
struct Finished: Center.Message {
    static let name: Center.Name = "tidings.demo.finished"
}

/// What an extension observes, apart from ticks.
enum Kind: String, Codable, CaseIterable {
    case track, artwork, state
}

/// An extension to the host.
struct Answer: Center.Message {
    static let name: Center.Name = "tidings.demo.answer"

    enum What: Codable {
        /// All its registrations have returned.
        case registered
        /// One notification has arrived, so many nanoseconds after it was posted.
        case heard(Kind, number: Int, nanoseconds: UInt64)
        /// A tick has arrived that wants an answer.
        case reached(Int64)
        /// A loop of ticks has come to its end.
        case ticked(TickRun)
        /// All it saw.
        case report(Observations)
    }

    var observer: String
    var pid: Int32
    var what: What
}

/// Nanoseconds of a clock that all processes of a machine share.
func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
