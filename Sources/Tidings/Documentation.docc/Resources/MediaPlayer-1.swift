import Glibc
import MediaPlayerMessages
import Synchronization
import Tidings
import TidingsExtensions

/// A media player with three extensions. MediaPlayer SECONDS: plays that long, then prints what happened.
@main struct MediaPlayer {
    static let scrobbled = Mutex(0)

    static func main() async {
        do {
            try await play(seconds: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5)
        } catch {
            print("MediaPlayer: \(error)")
            exit(1)
        }
    }

    private static func play(seconds: Int) async throws {
        let host = try ExtensionHost(broadcast: .sealed(named: "player"))
        try await host.serve(Length.self) { request, caller in 10 * request.title.count }
        let token = try host.broadcast.addObserver(for: Scrobbled.self) { scrobble in
            scrobbled.withLock { $0 = max($0, scrobble.count) }
        }
        token.cancel()
    }
}
