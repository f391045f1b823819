import Foundation
import Tidings

/// Shows the queue in one line of a terminal. Draws it anew when a commit or a worker has changed it.
func view(_ queue: JobQueue) async throws {
    let screen = Screen()
    let presence = try queue.workers.presence().register()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { for await change in presence { await screen.show(change) } }
        group.addTask { for try await counts in queue.counts() { await screen.show(counts) } }
        try await group.next()
    }
}

actor Screen {
    private var counts: Counts?
    private var workers: Set<UInt64> = []
    /// When how many jobs were done: of the last second, and one older entry.
    private var past: [(time: ContinuousClock.Instant, done: Int)] = []
    private let isTerminal = isatty(STDOUT_FILENO) != 0

    func show(_ counts: Counts) {
        self.counts = counts
        past.append((.now, counts.done))
        while past.count > 2, past[1].time < .now - .seconds(1) { past.removeFirst() }
        draw()
    }

    func show(_ change: SharedNotificationCenter.PresenceChange) {
        switch change {
        case .joined(let worker): workers.insert(worker.id)
        case .left(let worker, _): workers.remove(worker.id)
        }
        draw()
    }

    private func draw() {
        guard let counts, let first = past.first, let last = past.last else { return }
        let seconds = (last.time - first.time) / .seconds(1)
        let rate = seconds > 0 ? Double(last.done - first.done) / seconds : 0
        let line = """
            \(counts.queued) queued, \(counts.running) running, \(counts.done) done, \(Int(rate)) per second, \
            workers: \(workers.count)
            """
        print(isTerminal ? "\r\u{1B}[K\(line)" : "\(line)\n", terminator: "")
        fflush(nil)
    }
}
