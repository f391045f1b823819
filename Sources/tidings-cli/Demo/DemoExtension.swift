import ArgumentParser
import Foundation
import Glibc
import Tidings
import TidingsExtensions

/// One of the demo's extensions: observes everything and answers. Lyrics also serves a request.
struct DemoExtension: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-extension", abstract: "A process of the demo.", shouldDisplay: false)

    @Argument var name: String

    func run() {
        Task { await Observer.main() }
        dispatchMain()
    }

    private struct Observer: TidingsExtension {
        private let name = CommandLine.arguments[2]
        private let notebook = Notebook()

        var will: Center.Will? { name == "lyrics" ? .init(LyricsDied()) : nil }

        func run(_ host: HostConnection) async throws {
            _ = try await host.request(Admission())
            let server = try serve(host)
            let finished = try host.broadcast.messages(of: Finished.self).register()
            let tokens = try observe(host)
            try host.ready()
            for await _ in finished { break }
            answer(.report(notebook.observations), to: host)
            for token in tokens { token.cancel() }
            server?.cancel()
        }

        private func serve(_ host: HostConnection) throws -> Center.Server? {
            guard name == "lyrics" else { return nil }
            return try host.serve(Lines.self) { request, _ in
                if request.target == getpid() { kill(getpid(), SIGKILL) }
                return .init(text: "the lines of \(request.title)", pid: getpid())
            }
        }

        private func answer(_ what: Answer.What, to host: HostConnection) {
            do {
                try host.post(Answer(observer: name, what: what), options: .init(timeout: .seconds(60)))
            } catch {
                Terminal.note("\(name): \(error)")
                Glibc.exit(1)
            }
        }

        private func observe(_ host: HostConnection) throws -> [Center.ObservationToken] {
            func missed(_ kind: Kind) -> Center.ObserverOptions {
                .init(onMissed: { [notebook] count, _ in notebook.noteMissed(count, of: kind) })
            }
            @Sendable func note(
                _ kind: Kind, _ number: Int, at: UInt64, _ envelope: Center.Envelope,
                isIntact: @autoclosure () -> Bool = true
            ) {
                // Before the payload is checked, which is no part of it.
                let latency = monotonicNow() - at
                notebook.note(kind, number, latency: latency, envelope: envelope, isIntact: isIntact())
                answer(.heard(kind, number: number, nanoseconds: latency), to: host)
            }
            let center = try host.broadcast
            var artworks = missed(.artwork)
            artworks.inPlace = .large
            return [
                try center.addObserver(for: TrackChanged.self, options: missed(.track)) { track, envelope in
                    note(.track, track.number, at: track.at, envelope)
                },
                try host.center.addObserver(forNames: [Artwork.name], options: artworks) { notification in
                    let payload = notification.payload
                    guard let artwork = try? Artwork(payload) else {
                        return notebook.note(.artwork, -1, latency: 0, envelope: notification.envelope, isIntact: false)
                    }
                    note(
                        .artwork, artwork.number, at: artwork.at, notification.envelope,
                        isIntact: Artwork.isIntact(payload))
                },
                try center.addObserver(for: PlayerState.self, options: missed(.state)) { state, envelope in
                    note(.state, state.number, at: state.at, envelope)
                },
                try center.addObserver(for: LyricsDied.self, options: missed(.will)) { will, envelope in
                    note(.will, will.number, at: monotonicNow(), envelope)
                },
                try center.addObserver(
                    for: Tick.self, options: .init(onMissed: { count, _ in notebook.noteMissedTicks(count) })
                ) { tick, envelope in
                    if let run = notebook.note(tick, envelope: envelope) { answer(.ticked(run), to: host) }
                    if tick.wantsAnswer { answer(.reached(tick.number), to: host) }
                },
            ]
        }
    }
}

/// A poster of the demo: posts until it is killed.
struct DemoPoster: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-poster", abstract: "A process of the demo.", shouldDisplay: false)

    @Argument(help: "Which loop.") var loop: Int64
    @Argument(help: "A file for the number of posts that have returned.") var ledger: String

    func run() {
        Task { await Poster.main() }
        dispatchMain()
    }

    private struct Poster: TidingsExtension {
        func run(_ host: HostConnection) async throws {
            let ledger = open(CommandLine.arguments[3], O_WRONLY | O_CLOEXEC)
            guard ledger >= 0 else { throw Failure("can't open \(CommandLine.arguments[3])", errno: errno) }
            try host.ready()
            var tick = Tick(run: Int64(CommandLine.arguments[2]) ?? 0, number: 0)
            while true {
                try await host.center.waitingForRoom(timeout: .seconds(60)) { [tick] _ in try host.post(tick) }
                tick.number += 1
                // The file keeps the number if this process is killed.
                pwrite(ledger, &tick.number, MemoryLayout.size(ofValue: tick.number), 0)
            }
        }
    }
}
