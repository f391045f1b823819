import Foundation
import Tidings

/// What a run has to clean up however it ends: a directory of its own for its centers, and the processes it started.
///
/// The directory belongs to another process, the janitor, that removes it as soon as this one is gone: it hears of that by
/// the end of a pipe that only we can write to. So nothing stays behind either when this process is killed. The peers die
/// with us by themselves.
final class BenchStage: Sendable {
    let directory: String
    private let janitor: ChildProcess
    private let leash: PipeEnds
    private let isOver = Locked(false)

    /// Seconds, several times what a run takes: this ends what hangs.
    private static let limit = 300.0

    init() throws {
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
        // Where this process and the peers open their centers.
        setenv("TIDINGS_DIRECTORY", directory, 1)
        Thread.detachNewThread { [self] in
            let reason = finish.wait(seconds: Self.limit)
            guard tearDown() else { return }
            Terminal.note(reason == nil ? "the benchmark hangs: ended" : "the benchmark was interrupted")
            exit(1)
        }
    }

    /// - Returns: whether it wasn't done before.
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
