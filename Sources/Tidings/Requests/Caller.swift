/// The calls of one name in one center: the thread that takes their outcomes, and the requests that wait.
///
/// The thread sleeps without a timer, unless calls with a timeout are in flight or were a moment ago. Calls are made
/// and cancelled with the lock held, so an outcome finds its request, or the request has been cancelled. The thread
/// takes a part of a reply as soon as it is there. The server may send the next part when the program asks for it.
final class Caller: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.

    /// What became of a call, or a part of its reply.
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
        fileprivate var id: UInt64 = 0
        fileprivate var isCancelled = false
        fileprivate var wait: Wait?
        /// How the call ended, if it ended between two waits. The next wait returns it.
        fileprivate var early: Ending?
    }

    /// The program's wait for an outcome or a part.
    fileprivate struct Wait {
        /// As `Lock.now`.
        var deadline: UInt64
        var continuation: UnsafeContinuation<Ending, Never>
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
        try WorkerThread("for the replies to \"\(name)\"") { self.run() }.detach()
    }

    var isUsable: Bool { generation == Forking.generation && lock.withLock { !isOver } }

    // MARK: Calling

    /// Makes the call, and resumes the continuation with its ending or first part. Never waits.
    ///
    /// - Parameter deadline: as `Lock.now`.
    func make(
        _ call: Call, _ payload: SharedNotificationCenter.RawPayload, isIdempotent: Bool, deadline: UInt64,
        _ continuation: UnsafeContinuation<Ending, Never>
    ) {
        let ending = lock.withLock { () -> Ending? in
            if call.isCancelled { return .cancelled }
            guard !isOver else { return .notMade(Self.over) }
            if deadline <= Lock.now { return .timedOut }
            lastUse = Lock.now
            do throws(SharedNotificationError) {
                call.id = try handle.call(payload, isIdempotent: isIdempotent)
            } catch {
                return .notMade(error)
            }
            calls[call.id] = call
            wait(for: call, Wait(deadline: deadline, continuation: continuation))
            return nil
        }
        if let ending { continuation.resume(returning: ending) }
    }

    /// After a part: lets the server go on, and resumes the continuation with the next part or the ending. Never waits.
    func goOn(_ call: Call, deadline: UInt64, _ continuation: UnsafeContinuation<Ending, Never>) {
        let ending = lock.withLock { () -> Ending? in
            if call.isCancelled { return .cancelled }
            if let early = call.early { return early }
            precondition(call.wait == nil, "one task at a time may wait for the next reply of an iteration")
            do throws(SharedNotificationError) {
                try handle.goOn(call.id)
            } catch {
                calls[call.id] = nil
                handle.cancel(call.id)
                return .failed(error)
            }
            wait(for: call, Wait(deadline: deadline, continuation: continuation))
            return nil
        }
        if let ending { continuation.resume(returning: ending) }
    }

    /// With the lock held.
    private func wait(for call: Call, _ wait: Wait) {
        call.wait = wait
        guard wait.deadline < due else { return }
        due = wait.deadline
        handle.interrupt()
    }

    /// Cancels the call, which may not be made yet, or may have ended.
    func cancel(_ call: Call) {
        // In a forked child the lock may be held.
        guard generation == Forking.generation else { return }
        let wait = lock.withLock { () -> Wait? in
            call.isCancelled = true
            guard calls.removeValue(forKey: call.id) != nil else { return nil }
            handle.cancel(call.id)
            return call.takeWait()
        }
        wait?.continuation.resume(returning: .cancelled)
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
        let wait = lock.withLock { () -> Wait? in
            if case .noMemory = outcome.kind { handle.cancel(outcome.id) }
            return take(outcome)
        }
        wait?.continuation.resume(returning: .outcome(outcome.kind))
    }

    /// The wait that this outcome or part ends. With the lock held.
    private func take(_ outcome: CallerHandle.Outcome) -> Wait? {
        guard let call = calls[outcome.id] else { return nil }
        if case .reply(let reply) = outcome.kind, reply.isPart { return call.takeWait() }
        calls[outcome.id] = nil
        if call.wait == nil { call.early = .outcome(outcome.kind) }
        return call.takeWait()
    }

    /// Ends the calls that have timed out, and finds the next deadline.
    private func endLate() {
        let endings = lock.withLock { () -> [(Wait?, Ending)] in
            let now = Lock.now
            guard due <= now else { return [] }
            due = .max
            var late: [UInt64] = []
            for (id, call) in calls {
                guard let deadline = call.wait?.deadline else { continue }
                if deadline <= now {
                    late.append(id)
                } else {
                    due = min(due, max(deadline, now + Self.pause))
                }
            }
            return late.map { id in
                // A reply that is there counts.
                if let outcome = handle.outcome(of: id) { return (take(outcome), .outcome(outcome.kind)) }
                handle.cancel(id)
                return (calls.removeValue(forKey: id)?.takeWait(), .timedOut)
            }
        }
        for (wait, ending) in endings { wait?.continuation.resume(returning: ending) }
    }

    private func close(_ ending: Ending) {
        let waits = lock.withLock {
            isOver = true
            defer { calls = [:] }
            return calls.values.map { call in
                if call.wait == nil { call.early = ending }
                return call.takeWait()
            }
        }
        // With `isOver`, no other thread uses the handle.
        handle.close()
        for wait in waits { wait?.continuation.resume(returning: ending) }
    }
}

extension Caller.Call {
    fileprivate func takeWait() -> Caller.Wait? {
        defer { wait = nil }
        return wait
    }
}
