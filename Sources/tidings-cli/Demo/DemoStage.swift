import Foundation
import Tidings
import TidingsExtensions

/// The host of the demo's processes. They end with this process, however it ends, and so does the center: it has no
/// file.
///
/// A thread ends them if the demo hangs or is interrupted.
final class DemoStage: Sendable {
    let host: ExtensionHost
    /// What the demo is doing, for the report that it takes too long.
    let activity = Locked("starting")
    private let isOver = Locked(false)

    /// - Parameter limit: in seconds; several times the duration of the demo on a slow machine.
    init(limit: Double) throws {
        let finish = Finish()
        finish.includeSignals()
        host = try ExtensionHost(broadcast: .sealed(named: "demo"))
        Thread.detachNewThread { [self] in
            let reason = finish.wait(seconds: limit)
            guard beginEnd() else { return }
            stopAll()
            let doing = activity.withLock { $0 }
            Terminal.note(
                reason == nil
                    ? "the demo did not end within \(Int(limit)) s: it was \(doing)"
                    : "the demo was interrupted while it was \(doing)")
            exit(1)
        }
    }

    /// Starts this program again, and returns when it is ready.
    func launch(
        _ name: String, _ arguments: [String], _ grants: [Grant], restart: RestartPolicy = .never
    ) throws -> Extension {
        // The program's path, so that the extensions have the same name. A rebuilt program has no valid path.
        let link = "/proc/self/exe"
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? link
        let specification = LaunchSpecification(
            executable: FileManager.default.isExecutableFile(atPath: path) ? path : link, arguments: arguments,
            name: name, grants: grants, restart: restart, readyTimeout: .seconds(60))
        return try blocking { [host] in try await host.launch(specification) }
    }

    /// Ends all processes, and returns when they have ended. If the other thread does so, that ends this process.
    func end() {
        guard beginEnd() else { while true { pause() } }
        stopAll()
    }

    private func beginEnd() -> Bool {
        isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
    }

    private func stopAll() {
        try? blocking { [host] in await host.stopAll(timeout: .zero) }
    }
}

/// The answers that have arrived and have not been taken.
final class Inbox: Sendable {
    private let answers = Locked<[Answer]>([])
    private let arrived = DispatchSemaphore(value: 0)

    func put(_ answer: Answer) {
        answers.withLock { $0.append(answer) }
        arrived.signal()
    }

    /// Removes and returns the first answer of an observer for which `body` returns a value. Waits for one if
    /// necessary.
    ///
    /// - Parameter one: the extension that must not end before it answers.
    func take<Found>(
        from observer: String, running one: Extension? = nil, _ body: (Answer.What) -> Found?
    ) throws -> Found {
        while true {
            let found: Found? = answers.withLock { answers in
                for (index, answer) in answers.enumerated() where answer.observer == observer {
                    guard let found = body(answer.what) else { continue }
                    answers.remove(at: index)
                    return found
                }
                return nil
            }
            if let found { return found }
            // An answer wakes this thread. The timeout only checks whether the process has ended.
            if arrived.wait(timeout: .now() + .milliseconds(200)) == .timedOut, one?.processIdentifier == nil,
                one != nil
            {
                throw Failure("the demo's process \(observer) ended too early")
            }
        }
    }
}
