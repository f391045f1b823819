import Dispatch
import Foundation
import Glibc

/// What `tidings top` waits for, in the order in which it came.
final class TopEvents: @unchecked Sendable {
    // Sendable: the variables are accessed only while the lock of the condition is held.
    enum Event: Equatable {
        case key(TopKey)
        /// The size of the terminal has changed, or the process goes on after a stop.
        case resized, resumed
        /// A signal asks for the end, or the terminal is gone.
        case end
    }

    private let condition = NSCondition()
    private var events: [Event] = []

    func put(_ event: Event) {
        condition.lock()
        defer { condition.unlock() }
        // A terminal whose size changes all the time, or that sends without end, does not fill the memory.
        guard event == .end || events.count < 1000, event != .resized || events.last != .resized else { return }
        events.append(event)
        condition.broadcast()
    }

    /// The next event; `nil`: there was none up to that time of `monotonicSeconds`.
    func next(until deadline: Double) -> Event? {
        condition.lock()
        defer { condition.unlock() }
        while events.isEmpty {
            let rest = deadline - monotonicSeconds()
            guard rest > 0 else { return nil }
            // The bound: a wall clock that is set back must not make this wait long.
            _ = condition.wait(until: Date(timeIntervalSinceNow: min(rest, 1)))
        }
        return events.removeFirst()
    }

    /// Makes signals events. Call it while the process has only one thread.
    ///
    /// - Parameter force: runs one second after a signal that asks for the end, on another thread. The main thread may
    ///   be writing to a terminal that reads nothing.
    func includeSignals(force: @escaping @Sendable () -> Void) {
        let end: @Sendable () -> Void = {
            self.put(.end)
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1), execute: force)
        }
        onSignals([
            SIGINT: end, SIGTERM: end, SIGHUP: end, SIGWINCH: { self.put(.resized) }, SIGCONT: { self.put(.resumed) },
        ])
    }

    /// Makes keys of the terminal events, on a thread of its own.
    func includeKeys() {
        Thread.detachNewThread {
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 256)
            while true {
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // Another process that shares the terminal has made it non-blocking.
                    var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                    poll(&waiting, 1, -1)
                    continue
                }
                guard count > 0 else { return self.put(.end) }
                rest += buffer[..<count]
                for key in TopKey.take(from: &rest) { self.put(.key(key)) }
            }
        }
    }
}
