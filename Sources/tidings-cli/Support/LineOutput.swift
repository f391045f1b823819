import Dispatch
import Foundation
import Glibc

/// Prints lines, and ends the command at the limit, or if a line can't be printed.
///
/// A thread of its own writes the lines. It writes a line at once if none was written in the last millisecond. The
/// lines that come in that millisecond, or while the program that reads the output is busy, share a write: a write for
/// each line would take longer than all other work for it.
final class LineOutput: @unchecked Sendable {
    // Sendable: all variables are accessed only while the lock of the condition is held.
    private let finish: Finish
    private let isDirect: Bool
    private let condition = NSCondition()
    /// Lines that no write has taken yet.
    private var lines: [UInt8] = []
    private var left: Int?
    private var hasWriter = false, isWriterIdle = false
    private var isClosed = false, hasFailed = false, hasEnded = false
    private var failed: Failure?
    /// Signalled by each write after `close` was called, and at the end of the thread.
    private let progress = DispatchSemaphore(value: 0)

    /// How many bytes wait at most. Then `print` waits, and the observer falls behind the center's ring.
    private let most: Int
    private let target: (descriptor: Int32, name: String)
    /// Follows each line.
    private let lineEnd: [UInt8]
    /// From how many bytes on lines are not delayed, and how many one write has at most: what a pipe holds.
    private static let batch = 65_536

    /// - Parameters:
    ///   - isDirect: writes each line before `print` returns, in place of a thread.
    ///   - target: where the lines go, and how errors name it.
    init(
        limit: Int?, isDirect: Bool = false, finish: Finish,
        to target: (descriptor: Int32, name: String) = (STDOUT_FILENO, "standard output"),
        end: [UInt8] = [UInt8(ascii: "\n")], most: Int = 1 << 20
    ) {
        self.finish = finish
        self.isDirect = isDirect
        self.target = target
        self.most = most
        lineEnd = end
        left = limit
    }

    /// Why a line could not be written; `nil`: all were, or the program that reads the output has ended.
    var failure: Failure? {
        condition.lock()
        defer { condition.unlock() }
        return failed
    }

    /// Prints a line. Does nothing once the command has an end, or the limit was reached.
    ///
    /// - Parameters:
    ///   - counts: whether the limit counts the line.
    ///   - isLast: prints the line also if the command has an end, or the limit was reached.
    ///   - then: runs after the line was printed, and belongs to it. For direct output only.
    func print(_ line: [UInt8], counts: Bool = true, isLast: Bool = false, then: () throws -> Void = {}) {
        guard isLast || !finish.hasEnded else { return }
        if isDirect { return printDirectly(line, counts, then) }
        condition.lock()
        defer { condition.unlock() }
        while lines.count >= most, !isClosed, !hasFailed { condition.wait() }
        guard !isClosed, !hasFailed, isLast || left != 0 else { return }
        lines.append(contentsOf: line)
        lines.append(contentsOf: lineEnd)
        if counts { left = left.map { $0 - 1 } }
        if !hasWriter {
            hasWriter = true
            Thread.detachNewThread { self.writeLines() }
        } else if isWriterIdle {
            isWriterIdle = false
            condition.broadcast()
        }
    }

    private func printDirectly(_ line: [UInt8], _ counts: Bool, _ then: () throws -> Void) {
        // Without the lock: a command may take long, and the end of the observation must not wait for it.
        let result = Result {
            try Terminal.write((line + lineEnd)[...], to: target)
            try then()
        }
        condition.lock()
        defer { condition.unlock() }
        if case .failure(let error) = result { return fail(error) }
        guard counts, let count = left else { return }
        left = count - 1
        if left == 0 { finish.end(.complete) }
    }

    private func fail(_ error: any Error) {
        hasFailed = true
        failed = error as? Failure
        finish.end(error is BrokenPipe ? .brokenPipe : .failed("\(error)"))
    }

    /// Waits until all lines are written, as long as the program that reads the output reads: for one second after
    /// its last progress, and after an interruption for one second.
    ///
    /// - Parameter reason: why the command ends; `nil`: its time is over.
    func close(after reason: Finish.Reason?) {
        var isInterrupted = false
        if case .interrupted = reason { isInterrupted = true }
        condition.lock()
        isClosed = true
        condition.broadcast()
        let deadline = DispatchTime.now() + .seconds(1)
        while hasWriter, !hasEnded {
            condition.unlock()
            let result = progress.wait(timeout: isInterrupted ? deadline : .now() + .seconds(1))
            condition.lock()
            if result == .timedOut { break }
        }
        condition.unlock()
    }

    private func writeLines() {
        condition.lock()
        var taken: [UInt8] = []
        while !hasFailed {
            isWriterIdle = true
            while lines.isEmpty, !isClosed { condition.wait() }
            isWriterIdle = false
            guard !lines.isEmpty else { break }
            swap(&lines, &taken)
            let isLast = left == 0
            #if MUTANT_LAST_LINES_LOST  // Found by: command aStreamIsPrintedWhole
                if isMutant("LAST_LINES_LOST"), isLast || lines.count > Self.batch {
                    taken.removeLast(min(100, taken.count))
                }
            #endif
            condition.broadcast()
            write(taken)
            taken.removeAll(keepingCapacity: true)
            if isLast, lines.isEmpty, !hasFailed { finish.end(.complete) }
            if lines.count < Self.batch, !isClosed, !hasFailed {
                condition.unlock()
                usleep(1000)
                condition.lock()
            }
        }
        hasEnded = true
        condition.unlock()
        progress.signal()
    }

    /// Called with the lock held, which it releases meanwhile.
    private func write(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count, !hasFailed {
            let end = min(start + Self.batch, bytes.count)
            condition.unlock()
            let result = Result { try Terminal.write(bytes[start..<end], to: target) }
            condition.lock()
            start = end
            if isClosed { progress.signal() }
            if case .failure(let error) = result { fail(error) }
        }
    }
}
