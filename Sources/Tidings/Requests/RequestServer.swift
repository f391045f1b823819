import Glibc

/// One server: the thread that receives its requests, and the tasks in which its handler runs.
///
/// Only the thread uses the C server, except for replies. It sleeps without a timer. While the server has as many
/// requests as it handles at a time, the thread receives no new ones.
final class RequestServer: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.
    typealias Name = SharedNotificationCenter.Name
    typealias Handler =
        @Sendable (SharedNotificationCenter.RawPayload, SharedNotificationCenter.RequestEnvelope, ReplyParts) async ->
        ServerHandle.Reply

    private struct Run {
        var task: Task<Void, Never>
        var parts: ReplyParts

        /// Cancels the task, and ends the writes of tasks that it has started and that are not cancelled with it.
        func cancel() {
            task.cancel()
            parts.stop()
        }
    }

    /// The server whose handler contains the current task or has started it.
    @TaskLocal private static var current: RequestServer?

    private let name: Name
    private let link: CenterLink
    private let diagnostics: Diagnostics
    private let concurrency: Int
    private let generation = Forking.generation
    private let lock = Lock()

    // MARK: Guarded by the lock

    private var handle: ServerHandle
    /// `nil` after the end, so that what it holds is released.
    private var handler: Handler?
    /// The running handlers, by a number of their own: a request's number belongs to one center.
    private var runs: [UInt64: Run] = [:]
    private var lastRun: UInt64 = 0
    /// The runs of the present center's requests.
    private var runOfRequest: [UInt64: UInt64] = [:]
    private var isCancelled = false
    private var isHeld = false
    /// The C server is closed: callers know that this server has ended.
    private var isClosed = false
    private var thread: WorkerThread?

    /// Serves the name. Waits for other processes as opening a center does.
    init(
        _ name: Name, concurrency: Int?, in core: CenterCore, _ handler: @escaping Handler
    ) throws(SharedNotificationError) {
        if let concurrency, concurrency < 1 {
            throw SharedNotificationError(
                .invalidArgument,
                message: """
                    can't serve "\(name)" in center "\(core.link.name)" with a concurrency of \(concurrency); pass at \
                    least 1
                    """)
        }
        self.name = name
        self.concurrency = concurrency ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        self.handler = handler
        link = core.link
        diagnostics = core.diagnostics
        let (center, opened) = try link.inLatest { (center) throws(SharedNotificationError) in
            (center, try ServerHandle(core.link.requests.handle(beside: center), name: name.rawValue))
        }
        handle = opened
        try lock.withLock { () throws(SharedNotificationError) in
            let thread = try WorkerThread("to serve \"\(name)\"") { self.run(opened, in: center) }
            thread.detach()
            self.thread = thread
        }
    }

    var hasEnded: Bool { generation != Forking.generation || lock.withLock { isCancelled || isClosed } }

    /// Held: the server leaves new requests to other servers. Returns how many handlers run.
    @discardableResult
    func hold(_ isHeld: Bool) -> Int {
        let (handle, count, isChanged) = lock.withLock {
            defer { self.isHeld = isHeld }
            return (self.handle, runs.count, self.isHeld != isHeld)
        }
        if isChanged { handle.interrupt() }
        return count
    }

    /// Ends the server and cancels the tasks of its handlers. Returns when callers know of the end, except on the
    /// server's own thread.
    func cancel() {
        // A forked child has no such thread, and the lock may be held.
        guard generation == Forking.generation else { return }
        let (handle, handler, runs) = lock.withLock {
            isCancelled = true
            defer { self.handler = nil }
            return (self.handle, self.handler, Array(self.runs.values))
        }
        handle.interrupt()
        for run in runs { run.cancel() }
        lock.withLock {
            while !isClosed, thread != .current { lock.wait() }
        }
        // What the handler holds is released here, without the lock.
        withExtendedLifetime(handler) {}
    }

    /// Ends the server, and returns when no handler is running. Inside a handler of this server it does not wait.
    func cancelAndWait() async {
        guard generation == Forking.generation else { return }
        let tasks = lock.withLock { runs.values.map(\.task) }
        cancel()
        guard Self.current !== self else { return }
        for task in tasks + lock.withLock({ runs.values.map(\.task) }) { await task.value }
    }

    // MARK: The thread

    private func run(_ opened: ServerHandle, in center: CenterHandle) {
        var (handle, center) = (opened, center)
        var isHeld = false
        while true {
            let (isOver, isFull) = lock.withLock { (isCancelled, self.isHeld || runs.count >= concurrency) }
            if isOver { return close(handle) }
            if isFull != isHeld { handle.hold(isFull) }
            isHeld = isFull
            switch handle.next() {
            case .request(let request): start(request, from: handle)
            case .cancelled(let id): run(of: id)?.cancel()
            case .continued(let id): run(of: id)?.parts.goOn()
            case .interrupted: continue
            case .failed(let error):
                guard let next = goOn(after: error, &center) else { return }
                handle = next
                isHeld = false
            }
        }
    }

    private func run(of request: UInt64) -> Run? {
        lock.withLock { runOfRequest[request].flatMap { runs[$0] } }
    }

    private func start(_ request: ServerHandle.Request, from handle: ServerHandle) {
        let parts = ReplyParts(of: request.id, handle, lock)
        lock.withLock {
            // Without a handler the server ends, and with it the request.
            guard let handler else { return }
            lastRun += 1
            let run = lastRun
            runOfRequest[request.id] = run
            // The task does nothing before the lock is released that could take it again.
            let task = Task.detached(executorPreference: ObserverExecutor.shared) {
                let reply = await Self.$current.withValue(self) {
                    await handler(request.payload, request.envelope, parts)
                }
                // A handler whose task this server has cancelled may return anything.
                if await parts.end(), self.waits(request.id, for: run) { handle.reply(reply, to: request.id) }
                self.ended(run, of: request.id)
            }
            runs[run] = Run(task: task, parts: parts)
        }
    }

    /// Whether this server still owes that run's reply.
    private func waits(_ request: UInt64, for run: UInt64) -> Bool {
        lock.withLock { !isCancelled && runOfRequest[request] == run }
    }

    private func ended(_ run: UInt64, of request: UInt64) {
        let held = lock.withLock { () -> ServerHandle? in
            let wasFull = runs.count >= concurrency
            runs[run] = nil
            if runOfRequest[request] == run { runOfRequest[request] = nil }
            return wasFull ? handle : nil
        }
        held?.interrupt()
    }

    private func close(_ handle: ServerHandle, then report: () -> Void = {}) {
        handle.close()
        // Before callers of `cancel` learn of the end, so that a report is not later than that.
        report()
        lock.withLock {
            isClosed = true
            lock.wakeAll()
        }
    }

    // MARK: The end of a center

    /// Serves the same name in the center's successor. `nil`: the server has ended.
    private func goOn(after error: SharedNotificationError, _ center: inout CenterHandle) -> ServerHandle? {
        let (old, runs) = lock.withLock {
            // No caller of that center gets a reply any more.
            runOfRequest = [:]
            return (handle, Array(self.runs.values))
        }
        for run in runs { run.cancel() }
        guard error.code == .removed, link.follows else { return fail(error, old) }
        while true {
            if lock.withLock({ isCancelled }) {
                close(old)
                return nil
            }
            do throws(SharedNotificationError) {
                center = try link.successor(of: center)
                let next = try ServerHandle(link.requests.handle(beside: center), name: name.rawValue)
                old.close()
                lock.withLock { handle = next }
                diagnostics.report(.reopened(incarnation: center.incarnation))
                return next
            } catch {
                // The next center has ended already, and may have a successor itself.
                if error.code == .removed { continue }
                guard error.code == .notFound else { return fail(error, old) }
            }
            // No process has created the next center yet.
            do throws(SharedNotificationError) {
                while try !old.awaitSuccessor(), !lock.withLock({ isCancelled }) {}
            } catch {
                return fail(error, old)
            }
        }
    }

    private func fail(_ error: SharedNotificationError, _ handle: ServerHandle) -> ServerHandle? {
        let handler = lock.withLock {
            isCancelled = true
            defer { self.handler = nil }
            return self.handler
        }
        withExtendedLifetime(handler) {}
        close(handle) { diagnostics.report(.dispatchFailed(error)) }
        return nil
    }
}
