internal import Dispatch
import Glibc

/// The callers of a center object, by name: opened at the first request of a name, and kept.
///
/// A caller has a thread. Of those without calls in flight, ``most`` are kept.
final class Callers: Sendable {
    typealias Name = SharedNotificationCenter.Name
    typealias RawPayload = SharedNotificationCenter.RawPayload

    /// 16: more than the services that a program uses all the time, and few enough threads.
    private static let most = 16

    private let core: CenterCore
    private let callers = Locked<[Name: Caller]>([:])
    private let opening = Lock()

    init(_ core: CenterCore) { self.core = core }

    deinit {
        // In a forked child, the parent's lock may be held, and there is no thread to end.
        guard !core.isForked else { return }
        for caller in callers.withLock({ Array($0.values) }) { caller.end() }
    }

    /// How many are open. For tests.
    var count: Int { callers.withLock { $0.count } }

    /// A request that was made, whose server may send further parts of the reply.
    struct Open: Sendable {
        fileprivate let name: Name
        fileprivate let caller: Caller
        fileprivate let call = Caller.Call()

        /// Ends the request, unless it has ended.
        func cancel() { caller.cancel(call) }
    }

    /// When a wait that begins now ends, as `Lock.now`. `nil`: never.
    private static func deadline(_ timeout: Duration?) -> UInt64 {
        timeout.map { Lock.now.position(after: UInt64($0.nanoseconds)) } ?? .max
    }

    /// Makes a request, and waits for its reply, or the first part, without a thread of the program.
    ///
    /// - Throws: ``SharedNotificationError``, or `CancellationError`.
    func request(
        _ name: Name, _ payload: RawPayload, timeout: Duration?, _ options: SharedNotificationCenter.RequestOptions
    ) async throws -> (reply: CallerHandle.Reply, request: Open) {
        try core.refuseIfForked("call a server in")
        let deadline = Self.deadline(timeout)
        var attempts = CenterLink.attempts
        while true {
            let open = Open(name: name, caller: try await caller(for: name))
            let ending = await waiting(for: open) {
                open.caller.make(open.call, payload, isIdempotent: options.isIdempotent, deadline: deadline, $0)
            }
            if case .notMade(let error) = ending, error.code == .removed, attempts > 1 {
                attempts -= 1
                try await renew(open.caller, after: error)
            } else {
                let advice = options.isIdempotent ? "start its server" : "if that may be done twice, make it idempotent"
                let ended = "its server has ended, perhaps with the work done; \(advice)"
                return (try reply(ending, to: open, timeout, ended: ended), open)
            }
        }
    }

    /// After a part: waits for the next one, or for the end of the reply. As ``request(_:_:timeout:_:)``.
    func next(of open: Open, timeout: Duration?) async throws -> CallerHandle.Reply {
        try core.refuseIfForked("call a server in")
        let deadline = Self.deadline(timeout)
        let ending = await waiting(for: open) { open.caller.goOn(open.call, deadline: deadline, $0) }
        // No other server goes on with it, also if it is idempotent.
        return try reply(ending, to: open, timeout, ended: "its server has ended after a part of it; request it anew")
    }

    private func waiting(
        for open: Open, _ begin: (UnsafeContinuation<Caller.Ending, Never>) -> Void
    ) async -> Caller.Ending {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { begin($0) }
        } onCancel: {
            open.cancel()
        }
    }

    /// - Parameter ended: says what to do if the server has ended.
    private func reply(
        _ ending: Caller.Ending, to open: Open, _ timeout: Duration?, ended: String
    ) throws -> CallerHandle.Reply {
        switch ending {
        case .outcome(.reply(let reply)): return reply
        case .outcome(let other): throw error(open.name, other, open.caller.center, ended)
        case .notMade(let error), .failed(let error): throw error
        case .cancelled: throw CancellationError()
        case .timedOut: throw timedOut(open.name, timeout ?? .zero)
        }
    }

    // MARK: Opening

    private func caller(for name: Name) async throws(SharedNotificationError) -> Caller {
        if let caller = known(name) { return caller }
        return try await DispatchQueue.global().result { () throws(SharedNotificationError) in try self.open(name) }
    }

    private func known(_ name: Name) -> Caller? {
        guard let caller = callers.withLock({ $0[name] }), caller.isUsable, caller.center === core.link.handle else {
            return nil
        }
        return caller
    }

    /// Opens the caller, unless another thread has.
    private func open(_ name: Name) throws(SharedNotificationError) -> Caller {
        try opening.withLock { () throws(SharedNotificationError) in
            if let caller = known(name) { return caller }
            let opened = try core.link.inLatest { (center) throws(SharedNotificationError) in
                try Caller(name, in: center, core.link.requests.handle(beside: center))
            }
            let former = callers.withLock { callers -> Caller? in
                defer { callers[name] = opened }
                if callers.count >= Self.most { Self.closeIdle(in: &callers) }
                return callers[name]
            }
            former?.end()
            return opened
        }
    }

    /// Closes the caller that was used least recently of those without calls in flight.
    private static func closeIdle(in callers: inout [Name: Caller]) {
        let byUse = callers.sorted { $0.value.lastUse < $1.value.lastUse }
        for (name, caller) in byUse where caller.endIfIdle() {
            callers[name] = nil
            return
        }
    }

    /// After a call in an ended center or by a closed caller: returns if it can be made again.
    private func renew(_ caller: Caller, after error: SharedNotificationError) async throws(SharedNotificationError) {
        try await DispatchQueue.global().result { [core] () throws(SharedNotificationError) in
            // The caller was closed, and its center goes on.
            if caller.center === core.link.handle, !caller.center.hasEnded { return caller.end() }
            _ = try core.link.successor(of: caller.center, after: error)
        }
    }

    // MARK: Errors

    private func timedOut(_ name: Name, _ timeout: Duration) -> SharedNotificationError {
        failure(.timedOut, name, "none came in \(timeout); if its server is alive, it is busy or stopped: wait longer")
    }

    private func error(
        _ name: Name, _ outcome: CallerHandle.Outcome.Kind, _ center: CenterHandle, _ ended: String
    ) -> SharedNotificationError {
        switch outcome {
        // The server may have noticed the center's end first.
        case .noServer where center.hasEnded, .serverEnded where center.hasEnded:
            failure(.removed, name, "the center was removed; open it again")
        case .noServer: failure(.noServer, name, "its last server has ended, and none received it; start its server")
        case .noMemory: failure(.system(ENOMEM), name, "this process has no memory for it")
        case .damaged: failure(.notACenter, name, "a process has damaged it; remove the center")
        case .serverEnded, .reply: failure(.serverEnded, name, ended)
        }
    }

    private func failure(_ code: SharedNotificationError.Code, _ name: Name, _ why: String) -> SharedNotificationError {
        SharedNotificationError(
            code, message: "can't get a reply to \"\(name)\" in center \"\(core.link.name)\": \(why)")
    }
}
