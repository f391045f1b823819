import Foundation
import Glibc

@testable import tidings

/// What a process writes, line by line, for a test that waits for it.
final class Lines: @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private let lock = NSLock()
    private var lines: [String] = []
    private var hasEnded = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Reads a pipe to its end, on a thread of its own.
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

    /// The first line that fits, waiting for it; `nil` if everything was read and none does.
    func first(where fits: @Sendable (String) -> Bool) async -> String? {
        while true {
            let (found, isFinal) = look { (lines.first(where: fits), hasEnded) }
            if found != nil || isFinal { return found }
            await waitForChange { lines.contains(where: fits) || hasEnded }
        }
    }

    /// All lines, when there will be no more.
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

    /// Waits for something to happen, unless that is true already.
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
