internal import Glibc
internal import Tidings

/// The private center of one start of an extension, and the host's part in it: the relay, the servers, the requests.
final class PrivateCenter: Sendable {
    let center: SharedNotificationCenter
    private let one: Extension
    private let relay: Task<Void, Never>
    private let progress = Locked(Relay.Progress())
    private let watch: Task<Void, Never>
    /// Ends the process for a reason.
    private let fail: @Sendable (SharedNotificationError) -> Void

    private struct State: Sendable {
        var servers: [SharedNotificationCenter.Server] = []
        var served: Set<SharedNotificationCenter.Name> = []
        var isOver = false
        /// What cancels each request that waits.
        var requests: [Int: @Sendable () -> Void] = [:]
        var lastRequest = 0
    }
    private let state = Locked(State())

    /// - Parameter number: the start's.
    init(_ number: Int, of one: Extension) throws(SharedNotificationError) {
        let specification = one.specification
        let signals = one.signals
        let fail: @Sendable (SharedNotificationError) -> Void = {
            signals.yield(.failed(number, .center($0, of: specification.name)))
        }
        // Small: one extension, and few names. A center takes memory for all of it at once.
        let center = try SharedNotificationCenter.sealed(
            named: specification.name,
            configuration: .init(
                maximumPayloadSize: specification.limits.payload, slots: 1024, participants: 32, observers: 64,
                names: 1024))
        for each in specification.configuration { try each.set(center) }
        // What the extension does to its center is reported as for the host's own center, and not without limit. It
        // ends the process if the center cannot be used any more.
        let tally = Locked(DiagnosticTally())
        center.onDiagnostic = { [weak one, broadcast = one.core.broadcast] diagnostic in
            if case .dispatchFailed(let error) = diagnostic { return fail(error) }
            let count = tally.withLock { $0.count(diagnostic) }
            if case .undecodable(let notification, _) = diagnostic {
                one?.countUndecodable()
                if let count { one?.lifecycle.feed.emit(.undecodable(notification.name, count: count)) }
            }
            guard count != nil else { return }
            broadcast.onDiagnostic?(diagnostic)
        }
        // Lossless: an extension that posts faster than the host forwards is held back, and loses nothing.
        // In place: a large payload is copied once, into the broadcast center.
        let options = SharedNotificationCenter.ObserverOptions(lossless: true, inPlace: .large)
        let posts = try center.deliveries(ofNames: .all, options: options, bufferSize: 64).register()
        let changes = try center.presence().register()
        relay = Task { [progress] in await Relay(one, center, progress, fail).run(posts) }
        watch = Task { await Self.watch(changes) { signals.yield(.left(number)) } }
        self.center = center
        self.one = one
        self.fail = fail
        for (name, serving) in one.core.handlers { serve(name, serving) }
    }

    /// Reports the end of the first participant that announces itself. Goes on until it is cancelled: only while this
    /// process observes presence, it posts the last will.
    private static func watch(
        _ changes: SharedNotificationCenter.ObservedSequence<SharedNotificationCenter.PresenceChange>.Iterator,
        _ left: () -> Void
    ) async {
        var speaker: UInt64?
        var hasLeft = false
        for await change in changes {
            switch change {
            case .joined(let participant): speaker = speaker ?? participant.id
            case .left(let participant, _):
                // Once: a hostile extension can invent more.
                guard participant.id == speaker, !hasLeft else { continue }
                hasLeft = true
                left()
            }
        }
    }

    /// Serves a name until the start ends, if there is a grant for it. On the host's queue.
    func serve(_ name: SharedNotificationCenter.Name, _ serving: HostCore.Serving) {
        guard one.specification.grants.contains(Grant(.requests, named: name)),
            state.withLock({ $0.served.insert(name).inserted })
        else { return }
        do throws(SharedNotificationError) {
            let server = try serving(center, one)
            let isOver = state.withLock { state in
                if !state.isOver { state.servers.append(server) }
                return state.isOver
            }
            if isOver { server.cancel() }
        } catch {
            fail(error)
        }
    }

    /// Makes a request. It ends at the latest with the start.
    func request<R: SharedNotificationCenter.Request>(
        _ request: R, timeout: Duration?, _ options: SharedNotificationCenter.RequestOptions
    ) async throws -> R.Reply {
        let task = Task { [center] in try await Self.request(request, in: center, timeout: timeout, options) }
        let (id, isOver) = state.withLock { state in
            state.lastRequest += 1
            state.requests[state.lastRequest] = { task.cancel() }
            return (state.lastRequest, state.isOver)
        }
        if isOver { task.cancel() }
        defer { _ = state.withLock { $0.requests.removeValue(forKey: id) } }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch let error as SharedNotificationError {
            report(error)
            throw error
        } catch is CancellationError where !Task.isCancelled {
            throw SharedNotificationError(
                .serverEnded,
                message: "can't get a reply to \"\(R.name)\" from extension \"\(one.name)\": it has ended")
        }
    }

    /// How long a request without a timeout waits for room. The relay needs at most a second for each notification.
    private static let roomTimeout = Duration.seconds(10)

    /// Makes a request, again after pauses while the center has no room: the relay is a lossless observer of it, and
    /// may be behind on a busy machine, or while the broadcast center has no room. The host's own requests don't fail
    /// for that. But a lossless observer of the extension, or a flood, may hold the center full without end.
    private static func request<R: SharedNotificationCenter.Request>(
        _ request: R, in center: SharedNotificationCenter, timeout: Duration?,
        _ options: SharedNotificationCenter.RequestOptions
    ) async throws -> R.Reply {
        let deadline = ContinuousClock.now + (timeout?.bounded ?? roomTimeout)
        var pause = Duration.milliseconds(1)
        while true {
            let left = max(.zero, ContinuousClock.now.duration(to: deadline))
            do {
                return try await center.request(request, timeout: timeout == nil ? nil : left, options: options)
            } catch let error as SharedNotificationError where error.code == .full {
                try await Task.sleep(for: min(pause, left))
                // Another attempt could not wait, and would time out.
                if deadline <= .now { throw error }
            }
            pause = min(pause * 2, .milliseconds(10))
        }
    }

    func post(
        _ post: (SharedNotificationCenter) throws(SharedNotificationError) -> Void
    ) throws(SharedNotificationError) {
        do throws(SharedNotificationError) { try post(center) } catch {
            report(error)
            throw error
        }
    }

    /// Ends the process if the error says that the center is damaged.
    private func report(_ error: SharedNotificationError) {
        if error.isOfADamagedCenter { fail(error) }
    }

    /// Ends what never had a process.
    func discard() {
        relay.cancel()
        watch.cancel()
        for server in state.withLock({ $0.servers }) { server.cancel() }
    }

    /// After the process has ended: forwards what it posted, and ends the host's part.
    func end() async {
        // The relay ends at this mark. A damaged center may not deliver it: the relay is ended if it takes nothing for
        // two seconds, or after ten. It needs at most one for each notification, if the broadcast center has no room. A
        // last will that found no room is posted again after at most a second, and later on a busy machine.
        let (relay, center, progress) = (relay, center, progress)
        let mark = Task {
            var isPosted = false
            for _ in 0..<5 {
                let before = progress.withLock { $0 }
                do {
                    if !isPosted {
                        try await center.waitingForRoom(timeout: .seconds(2)) { _ = try $0.post(name: Relay.mark) }
                        isPosted = true
                    }
                    try await Task.sleep(for: .seconds(2))
                } catch {}
                let now = progress.withLock { $0 }
                if Task.isCancelled || (now == before && !now.awaitsWill) { break }
            }
            relay.cancel()
        }
        await relay.value
        mark.cancel()
        watch.cancel()
        let servers = state.withLock { state in
            state.isOver = true
            defer { state.servers = [] }
            return state.servers
        }
        one.core.queue.async { for server in servers { server.cancel() } }
        // The center itself reports the death of a server within milliseconds, unless it is damaged. What still waits
        // after that is cancelled. Only such requests keep the center: restarts without a pause would keep many.
        Task { [state] in
            try? await Task.sleep(for: .seconds(1))
            for cancel in state.withLock({ Array($0.requests.values) }) { cancel() }
        }
    }
}

extension SharedNotificationError {
    /// Whether a private center is damaged. No process removes a sealed center, and the host has made it, with the
    /// host's version of the format. `EBADF`: the host is not a participant any more.
    var isOfADamagedCenter: Bool {
        [.notACenter, .removed, .incompatibleVersion, .system(EBADF)].contains(code)
    }
}

extension ExtensionError {
    static func center(_ error: SharedNotificationError, of name: String) -> ExtensionError {
        ExtensionError(
            .center, message: "can't use a center of extension \"\(name)\": \(error.message)", underlyingError: error)
    }
}
