import Foundation
import Glibc

@testable import tidings

/// The lines that a process writes, for a test that waits for them.
final class Lines: @unchecked Sendable {
    // Sendable: the variables are accessed only while the lock is held.
    private let lock = NSLock()
    private var lines: [String] = []
    private var hasEnded = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Reads a pipe to its end, on its own thread.
    init(readingFrom pipe: Int32) {
        Thread.detachNewThread {
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(pipe, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest += buffer[..<count]
                var complete: [String] = []
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    complete.append(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeSubrange(...end)
                }
                self.change { self.lines += complete }
            }
            close(pipe)
            self.change {
                if !rest.isEmpty { self.lines.append(String(decoding: rest, as: UTF8.self)) }
                self.hasEnded = true
            }
        }
    }

    /// Waits for the first line that fits, and returns it; `nil` if the output ended without one.
    func first(where fits: @Sendable (String) -> Bool) async -> String? {
        while true {
            let (found, isFinal) = look { (lines.first(where: fits), hasEnded) }
            if found != nil || isFinal { return found }
            await waitForChange { lines.contains(where: fits) || hasEnded }
        }
    }

    /// Waits for the end of the output, and returns all lines.
    func all() async -> [String] {
        while !look({ hasEnded }) { await waitForChange { hasEnded } }
        return look { lines }
    }

    private func look<Result>(_ body: () -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }

    private func change(_ body: () -> Void) {
        let woken = look {
            body()
            defer { waiting = [] }
            return waiting
        }
        for continuation in woken { continuation.resume() }
    }

    /// Waits for the next change, unless the condition holds already.
    private func waitForChange(unless isTrue: () -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = look {
                if isTrue() { return true }
                waiting.append(continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
