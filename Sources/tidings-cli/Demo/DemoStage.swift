import Foundation
import Tidings

/// What the demo has to clean up however it ends: its center and the processes it started. And who ends it if it hangs.
final class DemoStage: Sendable {
    let center: Center
    /// What the demo is doing, for whoever finds that it takes too long.
    let activity = Locked("starting")
    private let children = Locked<[pid_t: String]>([:])
    /// The processes it starts end when this does: nobody but us can write to it.
    private let leash: PipeEnds
    private let isOver = Locked(false)

    /// - Parameter limit: seconds; several times what the demo takes on a slow machine.
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
                    ? "the demo hangs: after \(Int(limit)) s it was still \(doing)"
                    : "the demo was interrupted while it was \(doing)")
            exit(1)
        }
    }

    /// Starts this very program anew.
    func start(_ name: String, _ arguments: [String], output: Int32? = nil) throws -> ChildProcess {
        let child = try ChildProcess.start(executable, arguments, input: leash.reading, output: output)
        children.withLock { $0[child.pid] = name }
        return child
    }

    /// It has ended, and its pid may be somebody else's from now on.
    func forget(_ child: ChildProcess) {
        _ = children.withLock { $0.removeValue(forKey: child.pid) }
    }

    /// Fails if a process has ended that should not have.
    func checkChildren() throws {
        for (pid, name) in children.withLock({ $0 }) {
            guard let ending = ChildProcess(pid: pid).ending() else { continue }
            _ = children.withLock { $0.removeValue(forKey: pid) }
            throw Failure("the demo's process \(name) (pid \(pid)) \(ending)")
        }
    }

    /// Kills what still runs and removes the center.
    ///
    /// - Returns: whether it wasn't done before.
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

    /// Its path, so that the children's name is the same; a rebuilt program has none any more.
    private var executable: String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return link }
        return FileManager.default.isExecutableFile(atPath: path) ? path : link
    }
}

/// The answers that have come and that nobody has asked for yet.
final class Inbox: Sendable {
    private let answers = Locked<[Answer]>([])
    private let arrived = DispatchSemaphore(value: 0)

    func put(_ answer: Answer) {
        answers.withLock { $0.append(answer) }
        arrived.signal()
    }

    /// Takes out the first answer of an observer that `body` finds something in; waits for it if need be.
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
            // Woken by an answer; by the clock only to see whether somebody died who should have answered.
            if arrived.wait(timeout: .now() + .milliseconds(200)) == .timedOut { try stage.checkChildren() }
        }
    }
}
