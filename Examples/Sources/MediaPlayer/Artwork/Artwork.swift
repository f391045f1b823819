import Glibc
import MediaPlayerMessages
import Tidings
import TidingsExtensions

/// Renders images of megabytes, and dies at one in five requests.
@main struct Artwork: TidingsExtension {
    func run(_ host: HostConnection) async throws {
        let palette = try host.center.state(for: Palette.self)
        let server = try host.serve(Render.self) { request, envelope in
            if !envelope.isRepeated, Int.random(in: 0..<5) == 0 { kill(getpid(), SIGKILL) }
            try host.center.post(name: image, capacity: request.bytes, options: .init(subject: request.title)) {
                $0.append(repeating: palette?.colour ?? 0, count: request.bytes, as: UInt8.self)
            }
            return request.bytes
        }
        try host.ready()
        try await Task.sleep(for: .seconds(1 << 30))
        server.cancel()
    }
}
