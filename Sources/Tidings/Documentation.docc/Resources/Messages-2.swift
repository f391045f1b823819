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
