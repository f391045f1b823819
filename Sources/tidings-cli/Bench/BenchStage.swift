import ChildProcesses
import Foundation
import Tidings
import TidingsAdministration

/// The resources that a run must release however it ends: a directory for its centers, and the processes it started.
///
/// The directory belongs to another process, the janitor, which removes it when this process has ended. The janitor is
/// informed by the end of a pipe, whose writing end only this process holds. So the directory is removed even if this
/// process is killed. The peers end by themselves when this process ends.
final class BenchStage: Sendable {
    let directory: String
    private let janitor: ChildProcess
    private let leash: PipeEnds
    private let isOver = Locked(false)

    /// - Parameter limit: in seconds; several times the duration of a run. It only ends a run that hangs.
    init(limit: Double = 300) throws {
        leash = try PipeEnds()
        let finish = Finish()
        finish.includeSignals()
        let parent = Center.defaultDirectory
        let suffix = String(UInt64.random(in: 0x1000_0000_0000_0000 ... .max), radix: 16)
        directory = "\(parent)/tidings-bench.\(suffix)"
        let told = try PipeEnds()
        defer { close(told.reading) }
        janitor = try ChildProcess.start(
            "/proc/self/exe", ["bench-janitor", directory], input: leash.reading, output: told.writing)
        close(told.writing)
        close(leash.reading)
        var ready: UInt8 = 0
        while read(told.reading, &ready, 1) < 0, errno == EINTR {}
        guard ready == 1 else {
            close(leash.writing)
            throw Failure("can't make a directory in \(parent): \(janitor.waitUntilEnded())")
        }
        // This process and the peers open their centers here.
        setenv("TIDINGS_DIRECTORY", directory, 1)
        Thread.detachNewThread { [self] in
            let reason = finish.wait(seconds: limit)
            guard tearDown() else { return }
            let ending = reason == nil ? "did not end within \(Int(limit)) s" : "was interrupted"
            Terminal.note("the benchmark \(ending)")
            exit(1)
        }
    }

    /// - Returns: whether this call released the resources: `false` if an earlier call did.
    @discardableResult
    func tearDown() -> Bool {
        isOver.withLock { isOver in
            guard !isOver else { return false }
            isOver = true
            close(leash.writing)
            _ = janitor.waitUntilEnded()
            return true
        }
    }
}
