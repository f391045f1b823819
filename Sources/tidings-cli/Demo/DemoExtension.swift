import ArgumentParser
import Foundation
import Tidings

/// One of the demo's extensions, in a process of its own: observes everything and answers.
struct DemoExtension: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-extension", abstract: "A process of the demo.", shouldDisplay: false)

    @Argument var center: String
    @Argument var name: String

    func run() throws {
        endWithParent()
        let center = try Center(named: center, configuration: .init(creation: .never))
        let finish = Finish()
        let answer: @Sendable (Answer.What) -> Void = { [name] what in
            do {
                try center.post(Answer(observer: name, pid: getpid(), what: what))
            } catch {
                finish.end(.failed("\(error)"))
            }
        }
        let notebook = Notebook()
        var tokens = try observe(center, notebook, answer)
        try center.addObserver(for: Finished.self) { _ in
            answer(.report(notebook.observations))
            finish.end(.complete)
        }.store(in: &tokens)
        answer(.registered)

        if case .failed(let line) = finish.wait() { throw Failure("\(name): \(line)") }
        for token in tokens { token.cancel() }
    }

    private func observe(
        _ center: Center, _ notebook: Notebook, _ answer: @escaping @Sendable (Answer.What) -> Void
    ) throws -> [Center.ObservationToken] {
        func missed(_ kind: Kind) -> Center.ObserverOptions {
            .init(onMissed: { count, _ in notebook.noteMissed(count, of: kind) })
        }
        return [
            try center.addObserver(for: TrackChanged.self, options: missed(.track)) { track, envelope in
                let latency = monotonicNow() - track.at
                notebook.note(.track, track.number, latency: latency, envelope: envelope)
                answer(.heard(.track, number: track.number, nanoseconds: latency))
            },
            try center.addObserver(for: ArtworkChanged.self, options: missed(.artwork)) { artwork, envelope in
                let latency = monotonicNow() - artwork.at
                let isIntact = artwork.isIntact
                notebook.note(.artwork, artwork.number, latency: latency, envelope: envelope, isIntact: isIntact)
                answer(.heard(.artwork, number: artwork.number, nanoseconds: latency))
            },
            try center.addObserver(for: PlayerState.self, options: missed(.state)) { state, envelope in
                let latency = monotonicNow() - state.at
                notebook.note(.state, state.number, latency: latency, envelope: envelope)
                answer(.heard(.state, number: state.number, nanoseconds: latency))
            },
            try center.addObserver(
                for: Tick.self, options: .init(onMissed: { count, _ in notebook.noteMissedTicks(count) })
            ) { tick, envelope in
                if let run = notebook.note(tick, envelope: envelope) { answer(.ticked(run)) }
                if tick.wantsAnswer { answer(.reached(tick.number)) }
            },
        ]
    }
}

/// A poster of the demo, in a process of its own: posts until it is killed.
struct DemoPoster: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-poster", abstract: "A process of the demo.", shouldDisplay: false)

    @Argument var center: String
    @Argument(help: "Which loop.") var loop: Int64

    func run() throws {
        endWithParent()
        let center = try Center(named: center, configuration: .init(creation: .never))
        try center.post(Answer(observer: "poster \(loop)", pid: getpid(), what: .registered))
        var number: Int64 = 0
        while true {
            // The host observes losslessly. If its processor is busy, this post waits.
            try center.post(Tick(run: loop, number: number), options: .init(timeout: .seconds(60)))
            number += 1
            // The number of posts that have returned. The file keeps it if this process is killed.
            pwrite(STDOUT_FILENO, &number, MemoryLayout.size(ofValue: number), 0)
        }
    }
}

/// Ends this process when its parent has ended. Standard input is a pipe to which only the parent can write.
private func endWithParent() {
    Thread.detachNewThread {
        var byte: UInt8 = 0
        while read(STDIN_FILENO, &byte, 1) > 0 {}
        _exit(0)
    }
}
