import Tidings

/// Five fields that travel as CBOR.
struct Track: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "org.example.micro.track"

    var number: UInt64
    var title = "Blue in Green, rehearsal"
    var artist = "Evans, Davis, Chambers,C"
    var position = 12.5
    var isPlaying = true
}

/// 32 bytes that travel as they are.
struct Meter: SharedNotificationCenter.BitwiseMessage {
    static let name: SharedNotificationCenter.Name = "org.example.micro.meter"

    var number: UInt64
    var left = 0.25
    var right = 0.5
    var peak = 0.75
}
