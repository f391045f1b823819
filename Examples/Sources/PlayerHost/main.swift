// Posts a track for each line "title / artist" of its standard input, and prints what extensions like.
import PlayerMessages
import Tidings

let center = try SharedNotificationCenter(named: "com.example.player")

let token = try center.addObserver(for: Liked.self) { liked, envelope in
    print("process \(envelope.poster.pid) likes \(liked.title)")
}

while let line = readLine() {
    let parts = line.split(separator: " / ", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { continue }
    // Retained: an extension that starts later receives the current track.
    try center.post(TrackChanged(title: parts[0], artist: parts[1]), options: .init(retain: true))
}

token.cancel()
