import Tidings

/// The host to its extensions: another track is playing.
public struct TrackChanged: SharedNotificationCenter.Message {
    public static let name: SharedNotificationCenter.Name = "com.example.player.trackChanged"

    public var title: String
    public var artist: String
    public var position: Double

    public init(title: String, artist: String, position: Double = 0) {
        self.title = title
        self.artist = artist
        self.position = position
    }
}

/// An extension to the host: the user likes the current track.
public struct Liked: SharedNotificationCenter.Message {
    public static let name: SharedNotificationCenter.Name = "com.example.player.liked"

    public var title: String

    public init(title: String) {
        self.title = title
    }
}
