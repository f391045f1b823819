// Prints each track that the host plays, and likes those by Miles Davis.
import PlayerMessages
import Tidings

let center = try SharedNotificationCenter(named: "com.example.player")

for await delivery in center.deliveries(of: TrackChanged.self) {
    switch delivery {
    case .message(let track, let envelope):
        print("#\(envelope.sequence) \(track.title) by \(track.artist)\(envelope.isRetained ? ", still playing" : "")")
        if track.artist == "Miles Davis" { try center.post(Liked(title: track.title)) }
    case .missed(let count):
        print("missed \(count) tracks")
    case .reopened, .centerEnded:
        print("the center was removed")
    }
}
