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

/// From the host to each extension: a large payload, which is built and read in the memory of the extension's private
/// center. Numbers of 64 bits: the number of the notification, the pixels, their checksum, and the time.
struct Artwork {
    static let name: Center.Name = "tidings.demo.artworkChanged"
    static let size = 200_000
    private static let words = size / 8
    static var capacity: Int { 8 * (words + 3) }

    var number: Int
    var at: UInt64

    static func build(_ number: Int, into output: inout OutputRawSpan) {
        output.append(UInt64(number), as: UInt64.self)
        var (seed, checksum) = (UInt64(number) &+ 1, basis)
        for _ in 0..<words {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            output.append(seed, as: UInt64.self)
            mix(seed, into: &checksum)
        }
        output.append(checksum, as: UInt64.self)
        output.append(monotonicNow(), as: UInt64.self)
    }

    init(_ payload: Center.RawPayload) throws {
        (number, at) = try payload.withSpan(of: UInt64.self) { numbers in
            guard numbers.count == Self.words + 3 else { throw Failure("artwork of \(numbers.count) numbers") }
            return (Int(truncatingIfNeeded: numbers[0]), numbers[numbers.count - 1])
        }
    }

    static func isIntact(_ payload: Center.RawPayload) -> Bool {
        let isIntact = try? payload.withSpan(of: UInt64.self) { numbers in
            var checksum = basis
            for index in 1...Self.words { mix(numbers[index], into: &checksum) }
            return numbers[Self.words + 1] == checksum
        }
        return isIntact ?? false
    }

    // The algorithm is FNV-1a, of numbers in place of bytes.
    private static let basis: UInt64 = 0xCBF2_9CE4_8422_2325
    private static func mix(_ number: UInt64, into checksum: inout UInt64) {
        checksum = (checksum ^ number) &* 0x100_0000_01B3
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
