import Foundation
import Tidings

// The messages between the demo's processes. `at` is the poster's `monotonicNow()`, for the latency.

/// From the host to its extensions: several fields of different types.
struct TrackChanged: Center.Message {
    static let name: Center.Name = "tidings.demo.trackChanged"
    var number: Int
    var title: String
    var artist: String
    var duration: Double
    var isFavourite: Bool
    var at: UInt64
}

/// From the host to its extensions: a large payload.
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
        // The algorithm is FNV-1a.
        data.withUnsafeBytes { $0.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }
    }
}

/// From the host to its extensions, retained: an extension that registers later receives the last one.
struct PlayerState: Center.Message {
    static let name: Center.Name = "tidings.demo.playerState"
    var number: Int
    var isPlaying: Bool
    var volume: Double
    var queue: [String]
    var at: UInt64
}

/// Posted in tight loops by posters that are killed, and while an observer is stopped. Bitwise: nothing is encoded.
struct Tick: Center.BitwiseMessage {
    static let name: Center.Name = "tidings.demo.tick"
    /// The loop. Each loop has one poster.
    var run: Int64
    /// The number in the loop: 0, 1, 2 …
    var number: Int64
    /// 0: an ordinary tick. 1: extensions answer it. 2: the host posts it at the end of a loop; it has no number.
    var mark: Int64 = 0

    var wantsAnswer: Bool { mark == 1 }
    var isEnd: Bool { mark == 2 }

    static func end(of run: Int64) -> Tick { Tick(run: run, number: 0, mark: 2) }
}

/// From the host to its extensions: the last notification.
struct Finished: Center.Message {
    static let name: Center.Name = "tidings.demo.finished"
}

/// The last will of lyrics.
struct LyricsDied: Center.Message {
    static let name: Center.Name = "tidings.demo.lyricsDied"
    var number = 0
}

/// The kinds of notifications that an extension observes, besides ticks.
enum Kind: String, Codable, CaseIterable {
    case track, artwork, state, will
}

/// From an extension to the host: may it observe? The host replies when it posts nothing, so that it knows what the
/// extension should receive.
struct Admission: Center.Request {
    typealias Reply = Bool
    static let name: Center.Name = "tidings.demo.admission"
}

/// From the host to lyrics.
struct Lines: Center.Request {
    struct Reply: Codable {
        var text: String
        var pid: Int32
    }
    static let name: Center.Name = "tidings.demo.lines"
    var title: String
    /// The process with this ID is killed while it answers.
    var target: Int32
}

/// From an extension to the host.
struct Answer: Center.Message {
    static let name: Center.Name = "tidings.demo.answer"

    enum What: Codable {
        /// A notification has arrived, that many nanoseconds after it was posted.
        case heard(Kind, number: Int, nanoseconds: UInt64)
        /// A tick that requests an answer has arrived.
        case reached(Int64)
        /// A loop of ticks has ended.
        case ticked(TickRun)
        /// All notifications that the extension received.
        case report(Observations)
    }

    var observer: String
    var what: What
}

/// The monotonic time in nanoseconds, which all processes of a machine share.
func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
