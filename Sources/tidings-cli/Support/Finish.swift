import Dispatch
import Foundation
import Tidings

/// The end of a waiting command, and its first reported reason.
final class Finish: Sendable {
    enum Reason: Sendable {
        /// The process received SIGINT or SIGTERM.
        case interrupted
        /// The requested number was reached.
        case complete
        /// The program that reads the output has ended.
        case brokenPipe
        case failed(String)
    }

    private let reason = Locked<Reason?>(nil)
    private let said = DispatchSemaphore(value: 0)

    /// Requests the end of the command. Only the first request counts.
    func end(_ why: Reason) {
        let isFirst = reason.withLock { reason in
            guard reason == nil else { return false }
            reason = why
            return true
        }
        if isFirst { said.signal() }
    }

    var hasEnded: Bool { reason.withLock { $0 != nil } }

    /// Waits for the reason; returns `nil` if there is none after `seconds`. If `seconds` is `nil`, waits without
    /// limit.
    ///
    /// Only one thread may call it.
    func wait(seconds: Double? = nil) -> Reason? {
        if let seconds {
            // The bound keeps the deadline within the range of a `DispatchTime`.
            _ = said.wait(timeout: .now() + .milliseconds(Int(min(seconds, 1e9) * 1000)))
        } else {
            said.wait()
        }
        return reason.withLock { $0 }
    }

    /// Makes the end of the center end the command. Takes the place of the center's `onDiagnostic`.
    func includeEnd(of center: Center) {
        center.onDiagnostic = { diagnostic in
            if case .dispatchFailed(let error) = diagnostic { self.end(.failed(error.line)) }
        }
    }

    /// Makes SIGINT and SIGTERM end the command.
    ///
    /// Call it while the process has only one thread, as ``onSignals(_:)``.
    func includeSignals() {
        onSignals([SIGINT: { self.end(.interrupted) }, SIGTERM: { self.end(.interrupted) }])
    }
}

/// Runs an action for each of these signals, on a thread of its own, as long as the process runs.
///
/// Call it while the process has only one thread. Later threads inherit the blocked signals, so only the thread started
/// here receives them.
func onSignals(_ actions: [Int32: @Sendable () -> Void]) {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in actions.keys { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    Thread.detachNewThread { [signals] in
        var signals = signals
        while true {
            var signal: Int32 = 0
            if sigwait(&signals, &signal) == 0 { actions[signal]?() }
        }
    }
}
