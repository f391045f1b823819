// The command `tidings demo`.
import ArgumentParser
import Foundation
import Tidings
import TidingsAdministration
import TidingsExtensions

struct Demo: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a host and two extensions, and check the promises while processes are killed and restarted.",
        discussion: """
            Starts two extensions and posts typed payloads to them. Kills one while it answers a request: its last \
            will is posted, it is started again, and then answers the request. Kills posters in the middle of a post, \
            and stops an observer until it is more than a whole ring behind. Then checks that each observer received \
            what Tidings promises. Takes about a second. The demo uses its own center, which is no file. The center \
            and all processes end with the demo, also if it is killed. Status 1 if a promise was broken.

              tidings demo
            """)

    /// In seconds; long enough for a machine under load. The limit only ends a demo that hangs.
    private static let limit = 60.0

    @Flag(help: ArgumentHelp("Start all processes, then wait for a signal: for tests.", visibility: .hidden))
    var hold = false

    func run() throws {
        let started = monotonicNow()
        let stage = try DemoStage(limit: hold ? 10 * Self.limit : Self.limit)
        defer { stage.end() }
        let host = try DemoHost(stage: stage)
        try Terminal.print("center \(host.center.name), sealed: memory that only these processes have")
        let (lyrics, scrobbler) = try introduce(host)
        while hold { pause() }
        try playTracks(host)
        let firstLyrics = try killAndRestart(lyrics, host, scrobbler)
        try killPosters(host)
        try stopObserver(scrobbler, host, lyrics)
        try host.finish()

        let verdict = DemoVerdict(host, killed: firstLyrics)
        try Terminal.print(verdict.table)
        for problem in verdict.problems { try Terminal.print("BROKEN: \(problem)") }
        let seconds = String(format: "%.2f", Double(monotonicNow() - started) / 1e9)
        try Terminal.print("\n\(verdict.summary), in \(seconds) s")
        guard verdict.problems.isEmpty else {
            throw Failure("the demo found \(counted(verdict.problems.count, "broken promise"))")
        }
    }

    private func introduce(_ host: DemoHost) throws -> (lyrics: Extension, scrobbler: Extension) {
        try Terminal.print("  host       pid \(getpid())  posts, and receives the answers")
        let extensions = try ["lyrics", "scrobbler"].map { name in
            let one = try host.start(name)
            try Terminal.print("  \(name.padded(to: 9))  pid \(pid(one))  observes, and answers each notification")
            return one
        }
        return (extensions[0], extensions[1])
    }

    /// The process of an extension that is ready.
    private func pid(_ one: Extension) throws -> Int32 {
        guard let pid = one.processIdentifier else { throw Failure("extension \(one.name) has ended") }
        return pid
    }

    private func playTracks(_ host: DemoHost) throws {
        try Terminal.print("\nTyped payloads: each post, and its latency to each extension")
        try postState(host, isRetained: true)
        for _ in 0..<4 { try postTrack(host) }
        try postArtwork(host)
    }

    /// - Returns: the number of notifications of each kind that the extension had received when it was killed.
    private func killAndRestart(
        _ lyrics: Extension, _ host: DemoHost, _ scrobbler: Extension
    ) throws -> [Kind: Int] {
        try Terminal.print("\nlyrics killed by SIGKILL while it answers a request; the other processes go on")
        let heard = host.posted.mapValues(\.count)
        let request = try host.kill(lyrics)
        _ = try host.heard(.will, 0, by: scrobbler)
        try Terminal.print("  LyricsDied, the last will of lyrics           posted; received by scrobbler")
        for _ in 0..<2 { try postTrack(host) }
        try host.restart(lyrics)
        let number = host.posted[.state, default: []].count - 1
        _ = try host.heard(.state, number, by: lyrics)
        try Terminal.print("lyrics restarted, pid \(pid(lyrics)); received the retained PlayerState \(number) at once")
        host.stage.activity.withLock { $0 = "waiting for the reply to the request" }
        let reply = try blocking { try await request.value }
        guard reply.pid == lyrics.processIdentifier else { throw Failure("process \(reply.pid) answered the request") }
        try Terminal.print("  the request has survived: pid \(reply.pid) replies \"\(reply.text)\"")
        for _ in 0..<3 { try postTrack(host) }
        try postState(host, isRetained: false)
        try postArtwork(host)
        return heard
    }

    /// Kills posters at random moments of a tight loop, often in the middle of a post.
    private func killPosters(_ host: DemoHost) throws {
        try Terminal.print("\nPosters killed by SIGKILL while they post in a tight loop: what each observer received")
        for run in Int64(1)...6 {
            let name = "poster \(run)"
            host.stage.activity.withLock { $0 = "waiting for \(name)" }
            let ledger = try TemporaryFile()
            let poster = try host.stage.launch(
                name, ["demo-poster", String(run), ledger.path], [.posts(Tick.self)])
            let pid = try pid(poster)
            // This does not wait for an event: the moment of the kill must be random.
            usleep(.random(in: 0...2500))
            kill(pid, SIGKILL)
            // Before it reports the end, the host has forwarded what the process posted.
            try blocking { for await _ in poster.lifecycle {} }
            let told = ledger.number
            // The poster may have been killed after a post returned and before it recorded that.
            let runs = try host.end(run, posted: told...(told + 1))
            try show("\(name.padded(to: 10)) pid \(pid), \(told.grouped) posts returned", runs)
        }
    }

    private func stopObserver(_ scrobbler: Extension, _ host: DemoHost, _ lyrics: Extension) throws {
        let slots = try host.center.statistics.slots
        let count = slots + slots / 2
        try Terminal.print(
            "\nscrobbler stopped by SIGSTOP during \(count.grouped) posts to a ring of \(slots.grouped) slots")
        kill(try pid(scrobbler), SIGSTOP)
        // Slowly enough for the other observers, so that they miss nothing.
        try host.postTicks(count, run: 100, heardBy: lyrics)
        kill(try pid(scrobbler), SIGCONT)
        try show("host       \(count.grouped) posts returned", try host.end(100, posted: count...count))
    }

    private func show(_ what: String, _ runs: [(name: String, run: TickRun)]) throws {
        let heard = runs.map { name, run in
            "\(name) \(run.received.grouped)" + (run.missed > 0 ? " and \(run.missed.grouped) missed" : "")
        }
        try Terminal.print("  \(what.padded(to: 44))  \(heard.joined(separator: ", "))")
    }

    private func postTrack(_ host: DemoHost) throws {
        let titles = ["So What", "Blue in Green", "Naima", "Take Five", "Nefertiti", "Footprints"]
        let artists = ["Miles Davis", "Bill Evans", "John Coltrane", "Paul Desmond", "Wayne Shorter"]
        var title = ""
        let latencies = try host.post(.track) { number in
            title = titles[number % titles.count]
            try host.center.post(
                TrackChanged(
                    number: number, title: title, artist: artists[number % artists.count],
                    duration: 180 + Double(number), isFavourite: number.isMultiple(of: 3), at: monotonicNow()))
        }
        try show("TrackChanged \"\(title)\"", latencies, host)
    }

    private func postArtwork(_ host: DemoHost) throws {
        let latencies = try host.post(.artwork) { number in
            for one in host.extensions {
                try one.post(name: Artwork.name, capacity: Artwork.capacity) { Artwork.build(number, into: &$0) }
            }
        }
        try show("Artwork, \(Artwork.size.grouped) bytes, in place", latencies, host)
    }

    private func postState(_ host: DemoHost, isRetained: Bool) throws {
        let latencies = try host.post(.state) { number in
            try host.center.post(
                PlayerState(
                    number: number, isPlaying: true, volume: 0.5, queue: ["Naima", "Lush Life"], at: monotonicNow()),
                options: .init(subject: isRetained ? nil : "player-1", retain: isRetained))
        }
        try show("PlayerState\(isRetained ? ", retained" : "")", latencies, host)
    }

    private func show(_ what: String, _ latencies: [String: UInt64], _ host: DemoHost) throws {
        let heard = ["lyrics", "scrobbler"].map { name in
            let time = latencies[name].map { duration($0) } ?? "–"
            return "\(name) \(time.aligned(to: 8))"
        }
        try Terminal.print("  \(what.padded(to: 44))  \(heard.joined(separator: "   "))")
    }
}

/// Formats a duration: "14.2 µs", "1.2 ms".
func duration(_ nanoseconds: UInt64) -> String {
    let microseconds = Double(nanoseconds) / 1000
    return microseconds < 1000
        ? String(format: "%.1f µs", microseconds) : String(format: "%.1f ms", microseconds / 1000)
}
