import MediaPlayerMessages
import Tidings
import TidingsExtensions

/// Replies with the lines of a track, at the pace of the host.
@main struct Lyrics: TidingsExtension {
    func run(_ host: HostConnection) async throws {
        let server = try host.serve(Lines.self) { request, _ in
            let seconds = try await host.request(Length(title: request.title), timeout: .seconds(5))
            return "\(request.title), \(seconds) seconds"
        }
        try host.ready()
        server.cancel()
    }
}
