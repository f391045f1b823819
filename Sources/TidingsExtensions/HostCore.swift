internal import Dispatch
internal import Glibc
internal import Tidings

/// What a host and its extensions share: the launcher, the thread that receives exits, and the handlers of requests.
final class HostCore: Sendable {
    typealias Serving =
        @Sendable (SharedNotificationCenter, Extension) throws(SharedNotificationError) ->
        SharedNotificationCenter.Server

    private struct State: Sendable {
        var launcher: Launcher?
        var isClosed = false
        var handlers: [SharedNotificationCenter.Name: Serving] = [:]
        /// Each extension that has not ended for good.
        var running: [ObjectIdentifier: Extension] = [:]
        /// Receives the end of each process, by the launcher's number.
        var ends: [UInt64: @Sendable (Ending) -> Void] = [:]
        /// Ends that were reported before `whenEnded` was called.
        var early: [UInt64: Ending] = [:]
    }

    let broadcast: SharedNotificationCenter
    /// For all that may wait: starting, opening and closing. Serial, so that 200 starts take one thread.
    let queue = DispatchQueue(label: "tidings.extensions")
    /// For signals, which do not wait for starts: one may take 30 s to load its program.
    private let signals = DispatchQueue(label: "tidings.extensions.signals")
    private let state = Locked(State())

    init(_ broadcast: SharedNotificationCenter) {
        self.broadcast = broadcast
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }
    var running: [Extension] { state.withLock { Array($0.running.values) } }

    func add(_ one: Extension) {
        state.withLock { $0.running[ObjectIdentifier(one)] = one }
    }

    func remove(_ one: Extension) {
        _ = state.withLock { $0.running.removeValue(forKey: ObjectIdentifier(one)) }
    }

    // MARK: The launcher

    /// Starts the launcher process, and the thread that receives the exits. On the queue, or before it is used.
    @discardableResult
    func open() throws(ExtensionError) -> Launcher {
        let launcher = try Launcher()
        let isClosed = state.withLock { state in
            if !state.isClosed { state.launcher = launcher }
            return state.isClosed
        }
        guard !isClosed else {
            launcher.close()
            throw Self.ended
        }
        // A serial queue of its own is one thread, which Dispatch does not count among those that should run.
        DispatchQueue(label: "tidings.extensions.exits").async { [self] in
            while true {
                switch launcher.next() {
                case .ended(let id, let ending): ended(id, ending)
                case .interrupted where !self.isClosed: continue
                case .interrupted, .over:
                    launcher.leave()
                    return queue.async { self.end(launcher) }
                }
            }
        }
        return launcher
    }

    /// Calls `body` with the launcher, on the queue. If the launcher process has been killed, another one is opened.
    func withLauncher<Result>(
        _ body: (Launcher) throws(ExtensionError) -> Result
    ) throws(ExtensionError) -> Result {
        dispatchPrecondition(condition: .onQueue(queue))
        let (open, isClosed) = state.withLock { ($0.launcher, $0.isClosed) }
        guard !isClosed else { throw Self.ended }
        guard let open else { return try body(try self.open()) }
        do throws(ExtensionError) { return try body(open) } catch {
            guard error.code == .system(EPIPE) else { throw error }
            open.waitUntilLeft()
            end(open)
            return try body(try self.open())
        }
    }

    /// Sends a signal to the process group. Does not wait.
    func signal(_ process: ExtensionProcess, _ signal: Int32) {
        signals.async { [self] in
            if state.withLock({ $0.launcher === process.launcher }) { process.launcher.signal(process.id, signal) }
        }
    }

    /// Kills the process and its descendants. Does not wait.
    func kill(_ process: ExtensionProcess) {
        signals.async { [self] in
            if state.withLock({ $0.launcher === process.launcher }) { process.launcher.kill(process.id) }
        }
    }

    /// Calls `handler` once, when the process with that number has ended.
    func whenEnded(_ id: UInt64, _ handler: @escaping @Sendable (Ending) -> Void) {
        let early = state.withLock { state in
            let early = state.early.removeValue(forKey: id)
            if early == nil { state.ends[id] = handler }
            return early
        }
        if let early { handler(early) }
    }

    private func ended(_ id: UInt64, _ ending: Ending) {
        let handler = state.withLock { state in
            let handler = state.ends.removeValue(forKey: id)
            if handler == nil { state.early[id] = ending }
            return handler
        }
        handler?(ending)
    }

    /// After the launcher process has ended, or to end it: closes it, and reports the end of all its processes. On the
    /// queue, after the thread that receives exits has left.
    private func end(_ launcher: Launcher) {
        // Before it is freed, so that `close` does not interrupt it any more.
        let isOpen = state.withLock { state in
            guard state.launcher === launcher else { return false }
            state.launcher = nil
            return true
        }
        guard isOpen else { return }
        // A signal may be under way. Later ones find no launcher.
        signals.sync {}
        launcher.close()
        let handlers = state.withLock { state in
            defer { (state.ends, state.early) = ([:], [:]) }
            return Array(state.ends.values)
        }
        for handler in handlers { handler(.crashed(SIGKILL)) }
    }

    /// Ends all extensions. Does not wait.
    func close() {
        state.withLock { $0.isClosed = true }
        for each in running { each.signals.yield(.stop(.zero)) }
        // With the lock held: `end` frees the launcher.
        _ = state.withLock { $0.launcher?.interrupt() }
    }

    static var ended: ExtensionError {
        ExtensionError(.stopped, message: "can't start an extension of a host that has ended; open another host")
    }

    // MARK: Requests of extensions

    func serve(_ name: SharedNotificationCenter.Name, _ serving: @escaping Serving) async throws(ExtensionError) {
        let isNew = state.withLock { state in
            guard state.handlers[name] == nil else { return false }
            state.handlers[name] = serving
            return true
        }
        guard isNew else {
            throw ExtensionError(
                .alreadyServed, message: "can't serve \"\(name)\" twice; let one handler tell its callers apart")
        }
        // A start that is under way on the queue has found the handler, or is among the present ones afterwards.
        await queue.result { [self] in for each in running { each.present?.center.serve(name, serving) } }
    }

    var handlers: [SharedNotificationCenter.Name: Serving] { state.withLock { $0.handlers } }
}
