import Tidings

/// The host tells all extensions what is playing.
public struct TrackStarted: SharedNotificationCenter.Message {
    public var title: String
    public var number: Int
    public init(title: String, number: Int) { (self.title, self.number) = (title, number) }
}

/// The scrobbler, a program in C, tells the host what it has counted.
public struct Scrobbled: SharedNotificationCenter.Message {
    public static let name: SharedNotificationCenter.Name = "com.example.player.scrobbled"
    public var count: Int
}

/// The host asks lyrics for the lines of a track, one after the other.
public struct Lines: SharedNotificationCenter.Request {
    public typealias Reply = String
    public var title: String
    public init(title: String) { self.title = title }
}

/// Lyrics ask the host how long a track is, in seconds.
public struct Length: SharedNotificationCenter.Request {
    public typealias Reply = Int
    public var title: String
    public init(title: String) { self.title = title }
}

/// An image of megabytes. As bytes, not as Codable: these are many numbers.
public struct Image: SharedNotificationCenter.BytesMessage {
    public var pixels: [UInt8]
    public init(pixels: [UInt8]) { self.pixels = pixels }
    public init(payloadBytes bytes: UnsafeRawBufferPointer) { pixels = Array(bytes) }
    public func payloadBytes() -> [UInt8] { pixels }
}

/// The host asks artwork for an image.
public struct Render: SharedNotificationCenter.Request {
    public typealias Reply = Image
    public var title: String, bytes: Int
    public init(title: String, bytes: Int) { (self.title, self.bytes) = (title, bytes) }
}

/// What artwork receives before all else.
public struct Palette: SharedNotificationCenter.Message {
    public var colour: UInt8
    public init(colour: UInt8) { self.colour = colour }
}
