import Dispatch
import Foundation

/// Why a command that waits should end: whoever says so first.
final class Finish: Sendable {
    enum Reason: Sendable {
        /// SIGINT or SIGTERM.
        case interrupted
        /// There was as much as had been asked for.
        case complete
        /// Nobody reads what it prints.
        case brokenPipe
        case failed(String)
    }

    private let reason = Locked<Reason?>(nil)
    private let said = DispatchSemaphore(value: 0)

    /// Says that the command should end. Only the first one counts.
    func end(_ why: Reason) {
        let isFirst = reason.withLock { reason in
            guard reason == nil else { return false }
            reason = why
            return true
        }
        if isFirst { said.signal() }
    }

    var hasEnded: Bool { reason.withLock { $0 != nil } }

    /// Waits until somebody says why; `nil` if nobody did in that time. Waits without end if that is `nil`. For one thread.
    func wait(seconds: Double? = nil) -> Reason? {
        if let seconds {
            // A billion seconds is enough for anybody, and no more than a `DispatchTime` can hold.
            _ = said.wait(timeout: .now() + .milliseconds(Int(min(seconds, 1e9) * 1000)))
        } else {
            said.wait()
        }
        return reason.withLock { $0 }
    }

    /// Lets SIGINT and SIGTERM end the command. To be called while the process has no other threads: they inherit that both
    /// are blocked, so that only the thread started here gets them.
    func includeSignals() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        Thread.detachNewThread { [signals] in
            var signals = signals
            var signal: Int32 = 0
            while sigwait(&signals, &signal) != 0 {}
            self.end(.interrupted)
        }
    }
}
