import Glibc

extension SharedNotificationCenter {
    /// An event that no observer was informed of, for ``onDiagnostic``.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// center.onDiagnostic = { diagnostic in
    ///     switch diagnostic {
    ///     case .undecodable(let notification, let error): print("\(notification.name): \(error)")
    ///     case .missed(let count, let name): print("missed \(count) of \(name?.rawValue ?? "several names")")
    ///     case .dispatchFailed(let error): print("no more notifications: \(error)")
    ///     default: print(diagnostic)
    ///     }
    /// }
    /// ```
    public enum Diagnostic: Sendable {
        /// A payload did not decode, and the observer has no `onUndecodable`. The error is a `DecodingError`, or what a
        /// ``PayloadCoder`` threw.
        case undecodable(Notification, any Error)
        /// Notifications of that name (`nil`: of all names) were missed, and the observer has no `onMissed`.
        case missed(Int, Name?)
        /// A function that does not throw could not observe. A sequence (name `nil`) ended at once, or an observer of a
        /// message with a subject is never called. Or an ``ObservedState`` of that name could not read a newer value,
        /// and keeps the last one.
        case observerFailed(Name?, SharedNotificationError)
        /// A post of the module `TidingsFoundation` that does not throw failed, and its notification is lost: a
        /// deferred post (`enqueue`), a post of a `MainActorMessage` or `AsyncMessage`, or one forwarded from
        /// Foundation's `NotificationCenter`.
        case postFailed(Name, SharedNotificationError)
        /// A probable mistake of the program; reported once for each kind and name.
        case mistake(Mistake)
        /// Dispatching ended with this error: the center's observers receive no more notifications, or a ``Server``
        /// receives no more requests.
        case dispatchFailed(SharedNotificationError)
        /// The center has ended, and its observers go on in the next center of its name
        /// (``Configuration-swift.struct/followsName``). Reported before the first notification from there.
        ///
        /// Each lossless observer, each observer that started with history, and each ``Server`` moves separately and is
        /// reported separately.
        case reopened(incarnation: UInt64)
    }
}

/// Receives the diagnostics of a center object, counts them, and passes them to the program's hook or to standard
/// error.
final class Diagnostics: Sendable {
    private struct State: Sendable {
        var hook: (@Sendable (SharedNotificationCenter.Diagnostic) -> Void)?
        var undecodable = 0
        var missed = 0
        var written: Set<String> = []
        var mistakes: Set<SharedNotificationCenter.Mistake> = []
    }

    // At the fork, another thread of the parent may have held the lock, and the state may have been half changed. So a
    // forked child gets a state of its own, without a hook.
    private let local = ForkLocal { Locked(State()) }
    private var state: Locked<State> { local.object }
    // 1,024 bounds the memory, because the number of names is unbounded. When the set is full it is emptied, and lines
    // can repeat.
    private static func isNew<Report>(_ report: Report, _ reported: inout Set<Report>) -> Bool {
        if reported.count >= 1024 { reported = [] }
        return reported.insert(report).inserted
    }

    var hook: (@Sendable (SharedNotificationCenter.Diagnostic) -> Void)? {
        get { state.withLock { $0.hook } }
        set {
            // The old hook is released after the lock: its release may run user code.
            let old = state.withLock { state in
                defer { state.hook = newValue }
                return state.hook
            }
            withExtendedLifetime(old) {}
        }
    }

    var counts: (undecodable: Int, missed: Int) { state.withLock { ($0.undecodable, $0.missed) } }

    func countUndecodable() { state.withLock { $0.undecodable += 1 } }

    func countMissed(_ count: Int) { state.withLock { $0.missed.add(count) } }

    /// Reports a mistake once for each kind and names, to the hook or to standard error.
    func tell(_ kind: SharedNotificationCenter.Mistake.Kind) {
        let mistake = SharedNotificationCenter.Mistake(kind)
        if state.withLock({ Self.isNew(mistake, &$0.mistakes) }) { report(.mistake(mistake)) }
    }

    func report(_ diagnostic: SharedNotificationCenter.Diagnostic) {
        if let hook { return hook(diagnostic) }
        let (key, line) = Self.line(diagnostic)
        guard state.withLock({ Self.isNew(key, &$0.written) }) else { return }
        let bytes = Array("tidings: \(line)\n".utf8)
        // One write, so that lines of several threads do not mix. If it fails, there is no other way to report it.
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// The key that identifies repeated reports, and the line to write.
    private static func line(_ diagnostic: SharedNotificationCenter.Diagnostic) -> (key: String, line: String) {
        switch diagnostic {
        case .undecodable(let notification, let error):
            return (
                "u\(notification.name)",
                """
                can't decode notification \(notification.envelope.sequence) "\(notification.name)" \
                (\(notification.payload.format), \(notification.payload.count) bytes) from pid \
                \(notification.envelope.poster.pid): \(error); later failures of this name are not reported
                """
            )
        case .missed(let count, let name):
            return (
                "m\(name?.rawValue ?? "")",
                """
                an observer of \(name.map { "\"\($0)\"" } ?? "several names") was too slow and missed \(count) \
                notifications; give it onMissed, or make it lossless; later losses are not reported
                """
            )
        case .postFailed(let name, let error):
            return ("p\(name)", "\(error.message); later failures of this name are not reported")
        case .observerFailed(_, let error): return ("e\(error.message)", error.message)
        case .reopened(let incarnation):
            return (
                "r\(incarnation)",
                """
                a center has ended; its observers go on in the next center (incarnation \
                \(String(incarnation, radix: 16)))
                """
            )
        case .mistake(let mistake): return ("x\(mistake)", "\(mistake)")
        case .dispatchFailed(let error): return ("e\(error.message)", error.message)
        }
    }
}
