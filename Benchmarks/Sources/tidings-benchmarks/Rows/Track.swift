import CTidingsBench
import Foundation
import Tidings

/// What two processes play to each other. `position` counts, so that nothing lost or doubled goes unnoticed.
protocol Ball: SharedNotificationCenter.Message {
    /// Of a pong: how many ticks its poster held it back.
    var held: UInt64 { get }
    var position: Double { get }
    /// `false`: the last one.
    var isPlaying: Bool { get }

    init(held: UInt64, position: Double, isPlaying: Bool)
}

/// The five-field struct of the requirements: it travels as CBOR.
struct Track: Ball {
    static let name: SharedNotificationCenter.Name = "com.example.player.track"

    var held: UInt64
    var title = "So What, the second take"
    var artist = "Miles Davis, John Coltran"
    var position: Double
    var isPlaying = true
}

extension Track {
    init(held: UInt64, position: Double, isPlaying: Bool) {
        self.held = held
        self.position = position
        self.isPlaying = isPlaying
    }
}

/// 32 bytes that travel as they are.
struct Meter: SharedNotificationCenter.BitwiseMessage {
    static let name: SharedNotificationCenter.Name = "com.example.player.meter"

    var number: UInt64
    var left = 0.25
    var right = 0.5
    var peak = 0.75
}

extension Meter: Ball {
    var held: UInt64 { number }
    var position: Double { left }
    var isPlaying: Bool { right > 0 }

    init(held: UInt64, position: Double, isPlaying: Bool) {
        self.init(number: held, left: position, right: isPlaying ? 0.5 : 0)
    }
}

/// How two processes play to each other.
struct TrackPace {
    /// How long each holds on before it answers, in nanoseconds. It doesn't count.
    var hold: UInt64 = 0
    /// Whether observers may look around for a moment before they sleep. They never do where there is one processor.
    var spins = false
    /// Whether both take what arrives by `for await`, in place of a closure.
    var awaits = false
    /// Whether they play meters, in place of tracks.
    var bitwise = false
    var count = 0

    init(hold: UInt64 = 0, spins: Bool = false, awaits: Bool = false, bitwise: Bool = false, count: Int) {
        self.hold = hold
        self.spins = spins
        self.awaits = awaits
        self.bitwise = bitwise
        self.count = count
    }

    /// As a peer's argument.
    var detail: Int {
        Int(hold) | (spins ? 1 << 32 : 0) | (awaits ? 1 << 33 : 0) | (bitwise ? 1 << 34 : 0) | count << 35
    }

    init(_ detail: Int) {
        hold = UInt64(detail & 0xffff_ffff)
        spins = detail & 1 << 32 != 0
        awaits = detail & 1 << 33 != 0
        bitwise = detail & 1 << 34 != 0
        count = detail >> 35
    }

    func pong(center: String, _ arena: OpaquePointer) throws {
        if bitwise {
            try TrackPong<Meter>(center: center, self, arena).run()
        } else {
            try TrackPong<Track>(center: center, self, arena).run()
        }
    }

    func ping(center: String, _ arena: OpaquePointer) throws {
        if bitwise {
            try TrackPing<Meter>(center: center, self, arena).run()
        } else {
            try TrackPing<Track>(center: center, self, arena).run()
        }
    }
}
