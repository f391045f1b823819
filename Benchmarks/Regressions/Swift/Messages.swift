import Tidings

/// Five fields that travel as CBOR.
struct Track: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "org.example.regression.track"

    var number: UInt64
    var title = "Flamenco Sketches, take 1"
    var artist = "Davis, Evans, Adderley, C"
    var position = 12.5
    var isPlaying = true
}

/// 32 bytes that travel as they are.
struct Meter: SharedNotificationCenter.BitwiseMessage {
    static let name: SharedNotificationCenter.Name = "org.example.regression.meter"

    var number: UInt64
    var left = 0.25
    var right = 0.5
    var peak = 0.75
}
