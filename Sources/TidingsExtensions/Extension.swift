public import Tidings

/// A program that a host has started, over all its restarts. ``ExtensionHost`` makes and shows it.
///
/// Its functions may be called from any thread and any task.
public final class Extension: Sendable {
    /// What the extension was launched with.
    public let specification: LaunchSpecification
    let core: HostCore
    /// What the supervising task has to react to.
    let signals: AsyncStream<Signal>.Continuation
    private let received: AsyncStream<Signal>

    private struct State: Sendable {
        /// The present start, from the start of its process to its end.
        var present: Launched?
        var isReady = false
        var (refused, undecodable) = (0, 0)
        var first: CheckedContinuation<Void, any Error>?
        var ends: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
    }
    private let state = Locked(State())

    init(_ specification: LaunchSpecification, _ core: HostCore) throws(ExtensionError) {
        try specification.check()
        self.specification = specification
        self.core = core
        (received, signals) = AsyncStream.makeStream()
    }

    /// The name in the specification (``LaunchSpecification/name``).
    public var name: String { specification.name }

    /// What happens to the extension: each use of the sequence is an iteration of its own, as ``Lifecycle`` says.
    public let lifecycle = Lifecycle(feed: LifecycleFeed())

    /// The ID of the started process, which may be a wrapper script; `nil` if it is not ready.
    public var processIdentifier: Int32? { state.withLock { $0.isReady ? $0.present?.process.pid : nil } }

    /// How many notifications and requests of all its processes the host has refused, because no grant allows them.
    public var refusedCount: Int { state.withLock { $0.refused } }

    /// How many requests, and notices of presence, of all its processes did not decode.
    public var undecodableCount: Int { state.withLock { $0.undecodable } }

    func countRefusal() {
        state.withLock { $0.refused += 1 }
    }

    func countUndecodable() {
        state.withLock { $0.undecodable += 1 }
    }

    // MARK: Messages

    /// Makes a request to the extension, and waits for its reply.
    ///
    /// ``ExtensionHost`` has an example. Promise: as `SharedNotificationCenter.request(_:timeout:options:)`. Also,
    /// while the extension is not ready:
    /// - a request that is idempotent (`options: .init(idempotent: true)`) waits within its timeout for the extension
    ///   to be ready. If the extension ends without a reply, the request is made again to the next process;
    /// - any other request throws `.noServer` at once, or `.serverEnded` if the extension ends without a reply.
    ///
    /// While the private center has no room, because the extension holds it full or the host is behind with forwarding,
    /// the request waits within its timeout, without one for up to 10 s, and then throws `.full`. If the timeout ends
    /// during an attempt, it throws `.timedOut`.
    ///
    /// If the extension is alive and does not serve the name, the request throws `.noServer`. An idempotent request
    /// first waits up to 2 s for a report that the process has ended.
    ///
    /// - Parameters:
    ///   - request: what to ask; its encoding may be as large as ``LaunchSpecification/Limits/payload``.
    ///   - timeout: for all attempts together; `nil`: a request that was made waits for the reply, until the extension
    ///     ends or the task is cancelled.
    ///   - options: whether the request may be carried out twice.
    /// - Throws: ``ExtensionError`` `.notGranted` without a grant (``Grant/serves(_:)``). The request's own `Failure`,
    ///   `CancellationError`, and `SharedNotificationError`, as `SharedNotificationCenter.request(_:timeout:options:)`.
    public func request<R: SharedNotificationCenter.Request>(
        _ request: R, timeout: Duration? = nil,
        options: SharedNotificationCenter.RequestOptions = SharedNotificationCenter.RequestOptions()
    ) async throws -> R.Reply {
        try specification.grants.require(.serves, R.name, "request \"\(R.name)\" from extension \"\(name)\"")
        let deadline = timeout.map { ContinuousClock.now + $0.bounded }
        var last = 0
        while true {
            let start = try await ready(after: last, deadline, R.name, waits: options.isIdempotent)
            do {
                let left = deadline.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
                return try await start.center.request(request, timeout: left, options)
            } catch let error as SharedNotificationError where options.isIdempotent && error.isOfAnEndedServer {
                let left = deadline.map { ContinuousClock.now.duration(to: $0) } ?? .seconds(2)
                guard await hasEnded(start, within: min(left, .seconds(2))) else {
                    try Task.checkCancellation()
                    throw error
                }
                last = start.number
            }
        }
    }

    /// The start that is ready, or the next one that is.
    private func ready(
        after last: Int, _ deadline: ContinuousClock.Instant?, _ request: SharedNotificationCenter.Name, waits: Bool
    ) async throws -> Launched {
        let find: @Sendable () -> Launched? = { [self] in current.flatMap { $0.number > last ? $0 : nil } }
        if let start = find() { return start }
        guard waits else { throw unanswered(.noServer, request, "it is not ready") }
        if let start = await wait(until: deadline, for: find) { return start }
        try Task.checkCancellation()
        if let deadline, deadline <= .now { throw unanswered(.timedOut, request, "it was not ready in time") }
        throw unanswered(.noServer, request, "it has ended, and is not started again")
    }

    /// Whether that start ends in that time. In 2 s the launcher reports the end of a process, also under load.
    private func hasEnded(_ start: Launched, within limit: Duration) async -> Bool {
        await wait(until: .now + limit) { [self] in current === start ? nil : true } ?? false
    }

    /// Calls `find` now and after each event until it finds something. `nil`: it has not before the deadline, the end
    /// of the extension, or the cancellation of the task.
    private func wait<Found: Sendable>(
        until deadline: ContinuousClock.Instant?, for find: @escaping @Sendable () -> Found?
    ) async -> Found? {
        // It begins with the present state, so no change is lost.
        let events = lifecycle.makeAsyncIterator()
        let waiting = Task { () -> Found? in
            var events = events
            while true {
                if let found = find() { return found }
                if await events.next(isolation: nil) == nil { return find() }
            }
        }
        let timer = deadline.map { deadline in
            Task {
                try await Task.sleep(until: deadline, clock: .continuous)
                waiting.cancel()
            }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await waiting.value
        } onCancel: {
            waiting.cancel()
        }
    }

    private func unanswered(
        _ code: SharedNotificationError.Code, _ request: SharedNotificationCenter.Name, _ reason: String
    ) -> SharedNotificationError {
        SharedNotificationError(code, message: "can't request \"\(request)\" from extension \"\(name)\": \(reason)")
    }

    /// Posts a message to this extension alone, into its private center.
    ///
    /// ```swift
    /// struct Volume: SharedNotificationCenter.Message { var level: Double }
    /// func mute(_ one: Extension) throws { try one.post(Volume(level: 0)) }
    /// ```
    ///
    /// Promise: as `SharedNotificationCenter.post(_:options:)`. A retained message is gone after a restart:
    /// ``LaunchSpecification/configuration`` is what each start receives. An extension that floods its center can make
    /// this call throw `.full`.
    ///
    /// - Throws: ``ExtensionError``: `.notRunning` if the extension is not ready, `.center` if the post fails.
    public func post<M: SharedNotificationCenter.Message>(
        _ message: M, options: SharedNotificationCenter.PostOptions = SharedNotificationCenter.PostOptions()
    ) throws(ExtensionError) {
        try post(M.name) { (center) throws(SharedNotificationError) in try center.post(message, options: options) }
    }

    /// Posts a payload that a closure builds in place, in the memory of this extension's private center: as
    /// `SharedNotificationCenter.post(name:format:capacity:options:building:)`.
    ///
    /// ```swift
    /// func show(_ one: Extension) throws {
    ///     try one.post(name: "frame", capacity: 640 * 480 * 4) { output in
    ///         output.append(repeating: 0xFF00_0000, count: 640 * 480, as: UInt32.self)
    ///     }
    /// }
    /// ```
    ///
    /// The extension reads it there if its observer in `host.center` has the option `inPlace`. In the broadcast center
    /// it could not: an extension may only read that.
    ///
    /// - Throws: as `post(_:options:)`.
    public func post(
        name: SharedNotificationCenter.Name, format: SharedNotificationCenter.PayloadFormat = .bytes, capacity: Int,
        options: SharedNotificationCenter.PostOptions = SharedNotificationCenter.PostOptions(),
        building build: (inout OutputRawSpan) throws -> Void
    ) throws(ExtensionError) {
        try post(name) { (center) throws(SharedNotificationError) in
            try center.post(name: name, format: format, capacity: capacity, options: options, building: build)
        }
    }

    private func post(
        _ what: SharedNotificationCenter.Name,
        _ post: (SharedNotificationCenter) throws(SharedNotificationError) -> Void
    ) throws(ExtensionError) {
        guard let start = current else {
            throw ExtensionError(
                .notRunning, message: "can't post \"\(what)\" to extension \"\(name)\": it is not ready")
        }
        do throws(SharedNotificationError) { try start.center.post(post) } catch { throw .center(error, of: name) }
    }

    // MARK: Start and end

    /// Starts supervision, and waits for the first ready.
    func launch() async throws {
        core.add(self)
        do {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    state.withLock { $0.first = continuation }
                    Task { await supervise(received) }
                }
            } onCancel: {
                signals.yield(.stop(.zero))
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
        // Cancelled just after the extension was ready, perhaps too late for the handler.
        guard Task.isCancelled else { return }
        signals.yield(.stop(.zero))
        throw CancellationError()
    }

    /// Stops the extension, and returns when its process has ended and the extension is not started again.
    ///
    /// ```swift
    /// func quit(_ extensions: [Extension]) async {
    ///     for each in extensions { await each.stop(timeout: .seconds(1)) }
    /// }
    /// ```
    ///
    /// Sends SIGTERM to the process group, which cancels `run` of a ``TidingsExtension``. After the timeout, sends
    /// SIGKILL to the process and all its descendants. While the extension is being started, it is ended as well; in a
    /// pause before a restart, it ends at once. Idempotent: each call returns when the extension has ended, and the
    /// earliest timeout counts. Cancelling the task does not end the wait.
    public func stop(timeout: Duration = .seconds(5)) async {
        signals.yield(.stop(timeout))
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.ends.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    var present: Launched? { state.withLock { $0.present } }

    /// The start that is ready.
    var current: Launched? { state.withLock { $0.isReady ? $0.present : nil } }

    func began(_ start: Launched) {
        state.withLock { $0.present = start }
    }

    func becameReady() {
        state.withLock { $0.isReady = true }
    }

    /// The process has ended.
    func startEnded() {
        state.withLock { ($0.present, $0.isReady) = (nil, false) }
    }

    /// Ends the wait of `launch()`, once.
    func settleLaunch(_ result: Result<Void, any Error>) {
        let first = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        first?.resume(with: result)
    }

    /// The extension is not started again.
    func finish() {
        core.remove(self)
        signals.finish()
        lifecycle.feed.end()
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.ends = [] }
            return state.ends
        }
        for each in waiting { each.resume() }
    }
}

extension SharedNotificationError {
    fileprivate var isOfAnEndedServer: Bool { [.noServer, .serverEnded].contains(code) || isOfADamagedCenter }
}
