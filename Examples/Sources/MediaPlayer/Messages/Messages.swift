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

/// An image of megabytes: bytes that artwork builds in the center's memory, and that the host reads there.
public let image: SharedNotificationCenter.Name = "com.example.player.image"

/// The host asks artwork for an image. Artwork posts it, with the title as its subject, and replies with its size.
public struct Render: SharedNotificationCenter.Request {
    public typealias Reply = Int
    public var title: String, bytes: Int
    public init(title: String, bytes: Int) { (self.title, self.bytes) = (title, bytes) }
}

/// What artwork receives before all else.
public struct Palette: SharedNotificationCenter.Message {
    public var colour: UInt8
    public init(colour: UInt8) { self.colour = colour }
}
