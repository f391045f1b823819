import Foundation
import Tidings

/// The resources that the demo must release however it ends: its center, and the processes it started.
///
/// A thread releases them if the demo hangs or is interrupted.
final class DemoStage: Sendable {
    let center: Center
    /// What the demo is doing, for the report that it takes too long.
    let activity = Locked("starting")
    private let children = Locked<[pid_t: String]>([:])
    /// The started processes end when this process ends: only this process can write to the pipe.
    private let leash: PipeEnds
    private let isOver = Locked(false)

    /// - Parameter limit: in seconds; several times the duration of the demo on a slow machine.
    init(limit: Double) throws {
        leash = try PipeEnds()
        let finish = Finish()
        finish.includeSignals()
        let suffix = String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
        center = try Center(named: "demo-\(suffix)", configuration: .init(creation: .exclusive))
        Thread.detachNewThread { [self] in
            let reason = finish.wait(seconds: limit)
            guard tearDown() else { return }
            let doing = activity.withLock { $0 }
            Terminal.note(
                reason == nil
                    ? "the demo did not end within \(Int(limit)) s: it was \(doing)"
                    : "the demo was interrupted while it was \(doing)")
            exit(1)
        }
    }

    /// Starts this program again.
    func start(_ name: String, _ arguments: [String], output: Int32? = nil) throws -> ChildProcess {
        let child = try ChildProcess.start(executable, arguments, input: leash.reading, output: output)
        children.withLock { $0[child.pid] = name }
        return child
    }

    /// Removes a child that has ended: another process may have its pid from now on.
    func forget(_ child: ChildProcess) {
        _ = children.withLock { $0.removeValue(forKey: child.pid) }
    }

    /// Throws if a child has ended too early.
    func checkChildren() throws {
        for (pid, name) in children.withLock({ $0 }) {
            guard let ending = ChildProcess(pid: pid).ending() else { continue }
            _ = children.withLock { $0.removeValue(forKey: pid) }
            throw Failure("the demo's process \(name) (pid \(pid)) \(ending)")
        }
    }

    /// Kills the running children and removes the center.
    ///
    /// - Returns: whether this call released the resources: `false` if an earlier call did.
    @discardableResult
    func tearDown() -> Bool {
        isOver.withLock { isOver in
            guard !isOver else { return false }
            isOver = true
            for pid in children.withLock({ $0.keys }) {
                kill(pid, SIGKILL)
                _ = ChildProcess(pid: pid).waitUntilEnded()
            }
            do {
                try Center.remove(named: center.name)
            } catch {
                Terminal.note("\(error)")
            }
            return true
        }
    }

    /// The program's path, so that the children have the same name. A rebuilt program has no valid path: then the link.
    private var executable: String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return link }
        return FileManager.default.isExecutableFile(atPath: path) ? path : link
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
    func take<Found>(
        from observer: String, on stage: DemoStage, _ body: (Answer.What) -> Found?
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
            // An answer wakes this thread. The timeout only checks whether the expected answerer has ended.
            if arrived.wait(timeout: .now() + .milliseconds(200)) == .timedOut { try stage.checkChildren() }
        }
    }
}
