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

        let folder = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false).dropLast()
        func launch(
            _ name: String, _ grants: [Grant], _ configuration: [LaunchSpecification.InitialState] = []
        ) async throws -> Extension {
            try await host.launch(
                .init(
                    executable: (folder + [name[...]]).joined(separator: "/"), grants: grants,
                    configuration: configuration,
                    restart: .always(backoff: .constant(.milliseconds(10)), limit: 1_000_000),
                    limits: .init(openFiles: 64, payload: 8 << 20)))
        }
        let lyrics = try await launch(
            "MediaPlayerLyrics", [.observes(TrackStarted.self), .serves(Lines.self), .requests(Length.self)])
        let scrobbler = try await launch(
            "media-player-scrobbler", [.observes(TrackStarted.self), .posts(Scrobbled.self)])
        let artwork = try await launch(
            "MediaPlayerArtwork", [.serves(Render.self), .posts(named: image)], [.message(Palette(colour: 7))])
        print("playing")

        let end = ContinuousClock.now + .seconds(seconds)
        var (track, answered) = (0, 0)
        while ContinuousClock.now < end {
            track += 1
            let title = "track \(track)"
            try host.broadcast.post(TrackStarted(title: title, number: track))
            do {
                let images = try host.broadcast.deliveries(
                    ofNames: [image], options: .init(subject: title, lossless: true, inPlace: .large)
                ).register()
                let line = try await lyrics.request(
                    Lines(title: title), timeout: .seconds(5), options: .init(idempotent: true))
                // Artwork dies at random: the host starts it again, and the request is made again.
                let size = try await artwork.request(
                    Render(title: title, bytes: 2_000_000), timeout: .seconds(5), options: .init(idempotent: true))
                guard let image = await first(of: images, within: .seconds(5)) else {
                    print("\(title): artwork has replied, but no image came within 5 s")
                    continue
                }
                let isWhole = try image.payload.withSpan(of: UInt8.self) { pixels in
                    pixels.count == size && size > 0 && pixels[0] == 7 && pixels[size - 1] == 7
                }
                if line.hasPrefix(title), isWhole { answered += 1 }
            } catch {
                print("track \(track): \(error)")
            }
        }
        await host.stopAll(timeout: .seconds(2))
        token.cancel()
        let counted = scrobbled.withLock { $0 }
        print("\(track) tracks, \(answered) answered; one scrobbler has counted \(counted)")
    }

    /// The first notification. `nil`: none came in time, and the sequence has ended.
    private static func first(
        of deliveries: SharedNotificationCenter.ObservedSequence<SharedNotificationCenter.RawDelivery>.Iterator,
        within timeout: Duration
    ) async -> SharedNotificationCenter.Notification? {
        await withTaskGroup(of: SharedNotificationCenter.Notification?.self) { group in
            group.addTask {
                for await case .notification(let notification) in deliveries { return notification }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
