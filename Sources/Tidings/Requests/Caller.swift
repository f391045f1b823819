import Glibc

/// The calls of one name in one center: the thread that takes their outcomes, and the requests that wait.
///
/// The thread sleeps without a timer, unless calls with a timeout are in flight or were a moment ago. Calls are made
/// and cancelled with the lock held, so an outcome finds its request, or the request has been cancelled.
final class Caller: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.

    /// What became of a call.
    enum Ending: Sendable {
        case outcome(CallerHandle.Outcome.Kind)
        case timedOut
        case cancelled
        /// There is no call. Another center may accept it.
        case notMade(SharedNotificationError)
        case failed(SharedNotificationError)
    }

    /// One request. Its properties are guarded by the caller's lock.
    final class Call: @unchecked Sendable {
        // Sendable: for that reason.
        fileprivate let deadline: UInt64
        fileprivate var id: UInt64 = 0
        fileprivate var isCancelled = false
        fileprivate var continuation: UnsafeContinuation<Ending, Never>?

        /// - Parameter deadline: as `Lock.now`.
        init(deadline: UInt64) {
            self.deadline = deadline
        }
    }

    /// The least time between two checks for calls that have timed out, in nanoseconds: 1 ms is well below what a
    /// timeout is exact to, and bounds the work of thousands of calls.
    private static let pause: UInt64 = 1_000_000

    let handle: CallerHandle
    /// The center object's own participant, beside which the caller was opened.
    let center: CenterHandle
    private let generation = Forking.generation
    private let lock = Lock()

    // MARK: Guarded by the lock

    private var calls: [UInt64: Call] = [:]
    /// When the thread looks for calls that have timed out: no later than the earliest deadline. It may be the deadline
    /// of a call that has ended: the next call then needs no interrupt.
    private var due = UInt64.max
    /// No call is made any more, and the handle is closed soon.
    private var isOver = false
    private(set) var lastUse: UInt64 = 0

    /// Opens the caller, and starts its thread. May wait for other processes.
    init(_ name: SharedNotificationCenter.Name, in center: CenterHandle, _ participant: CenterHandle)
        throws(SharedNotificationError)
    {
        self.center = center
        handle = try CallerHandle(participant, name: name.rawValue)
        do throws(WorkerThread.NotStarted) {
            try WorkerThread { self.run() }.detach()
        } catch {
            throw SharedNotificationError(
                .system(error.errno),
                message: """
                    can't start a thread for the replies to "\(name)": \(String(cString: strerror(error.errno)))
                    """)
        }
    }

    var isUsable: Bool { generation == Forking.generation && lock.withLock { !isOver } }

    // MARK: Calling

    /// Makes the call, and resumes the continuation with its ending. Never waits.
    func make(
        _ call: Call, _ payload: SharedNotificationCenter.RawPayload, isIdempotent: Bool,
        _ continuation: UnsafeContinuation<Ending, Never>
    ) {
        let ending = lock.withLock { () -> Ending? in
            if call.isCancelled { return .cancelled }
            guard !isOver else { return .notMade(Self.over) }
            if call.deadline <= Lock.now { return .timedOut }
            lastUse = Lock.now
            do throws(SharedNotificationError) {
                call.id = try handle.call(payload, isIdempotent: isIdempotent)
            } catch {
                return .notMade(error)
            }
            call.continuation = continuation
            calls[call.id] = call
            if call.deadline < due {
                due = call.deadline
                handle.interrupt()
            }
            return nil
        }
        if let ending { continuation.resume(returning: ending) }
    }

    /// Cancels the call, which may not be made yet.
    func cancel(_ call: Call) {
        let continuation = lock.withLock { () -> UnsafeContinuation<Ending, Never>? in
            call.isCancelled = true
            guard calls.removeValue(forKey: call.id) != nil else { return nil }
            handle.cancel(call.id)
            return call.takeContinuation()
        }
        continuation?.resume(returning: .cancelled)
    }

    /// The caller has ended with its center, or was closed because others were used since.
    private static var over: SharedNotificationError {
        SharedNotificationError(.removed, message: "can't call a server in a center that has ended; open it again")
    }

    // MARK: The end

    /// Ends the caller. Its thread cancels the calls that are in flight.
    func end() {
        guard generation == Forking.generation else { return }
        lock.withLock {
            guard !isOver else { return }
            isOver = true
            handle.interrupt()
        }
    }

    /// Ends the caller, if no call is in flight.
    func endIfIdle() -> Bool {
        lock.withLock {
            guard calls.isEmpty, !isOver else { return isOver }
            isOver = true
            handle.interrupt()
            return true
        }
    }

    // MARK: The thread

    private func run() {
        while let nanoseconds = nextWait() {
            if nanoseconds == 0 {
                endLate()
                continue
            }
            switch handle.next(nanoseconds: nanoseconds) {
            case .outcome(let outcome): ended(outcome)
            case .timedOut: endLate()
            case .interrupted: continue
            case .failed(let error): return close(.failed(error))
            }
        }
        close(.failed(Self.over))
    }

    /// How long to wait for the next outcome; negative: without end; 0: calls may have timed out. `nil`: the caller
    /// ends.
    private func nextWait() -> Int64? {
        lock.withLock {
            if isOver { return nil }
            guard due != .max else { return -1 }
            let now = Lock.now
            return due > now ? Int64(clamping: due - now) : 0
        }
    }

    private func ended(_ outcome: CallerHandle.Outcome) {
        let continuation = lock.withLock { () -> UnsafeContinuation<Ending, Never>? in
            if case .noMemory = outcome.kind { handle.cancel(outcome.id) }
            return calls.removeValue(forKey: outcome.id)?.takeContinuation()
        }
        continuation?.resume(returning: .outcome(outcome.kind))
    }

    /// Ends the calls that have timed out, and finds the next deadline.
    private func endLate() {
        let endings = lock.withLock { () -> [(UnsafeContinuation<Ending, Never>?, Ending)] in
            let now = Lock.now
            guard due <= now else { return [] }
            due = .max
            var endings: [(UnsafeContinuation<Ending, Never>?, Ending)] = []
            for (id, call) in calls {
                guard call.deadline <= now else {
                    due = min(due, max(call.deadline, now + Self.pause))
                    continue
                }
                // A reply that is there counts.
                if let outcome = handle.outcome(of: id) {
                    endings.append((call.takeContinuation(), .outcome(outcome.kind)))
                } else {
                    handle.cancel(id)
                    endings.append((call.takeContinuation(), .timedOut))
                }
            }
            calls = calls.filter { $1.continuation != nil }
            return endings
        }
        for (continuation, ending) in endings { continuation?.resume(returning: ending) }
    }

    private func close(_ ending: Ending) {
        let waiting = lock.withLock {
            isOver = true
            defer { calls = [:] }
            return calls.values.map { $0.takeContinuation() }
        }
        // With `isOver`, no other thread uses the handle.
        handle.close()
        for continuation in waiting { continuation?.resume(returning: ending) }
    }
}

extension Caller.Call {
    fileprivate func takeContinuation() -> UnsafeContinuation<Caller.Ending, Never>? {
        defer { continuation = nil }
        return continuation
    }
}
