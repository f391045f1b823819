import OpenCombine
import Tidings

struct TrackChanged: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.player.trackChanged"
    var title: String
}

/// Prints what is playing, and the deliveries for which standard input asks: each line is a number of them.
@main struct Tracks {
    static func main() throws { try run() }

    /// Not on the main actor, as `main()` is: neither are its closures.
    private static func run() throws {
        let center = try SharedNotificationCenter(named: "com.example.player")
        let tracks = MessagePublisher<TrackChanged>(center: center)
        let playing =
            tracks
            .compactMap { if case .message(let track, _) = $0 { track.title } else { nil } }
            .removeDuplicates()
            .sink { print("now playing \($0)") }
        let reader = Reader()
        tracks.subscribe(reader)
        print("observing")
        while let line = readLine() { reader.subscription?.request(.max(Int(line) ?? 1)) }
        reader.subscription?.cancel()
        playing.cancel()
    }
}

final class Reader: Subscriber {
    private(set) var subscription: (any Subscription)?

    func receive(subscription: any Subscription) { self.subscription = subscription }

    func receive(_ delivery: SharedNotificationCenter.Delivery<TrackChanged>) -> Subscribers.Demand {
        switch delivery {
        case .message(let track, let envelope): print("#\(envelope.sequence) \(track.title)")
        case .missed(let count): print("missed \(count)")
        case .reopened, .centerEnded: print("the center was removed")
        }
        return .none
    }

    func receive(completion: Subscribers.Completion<Never>) { print("finished") }
}
