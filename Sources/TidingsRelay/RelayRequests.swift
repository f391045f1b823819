// Requests between the center and links: the relay serves names of other machines here, and calls servers here for
// callers there.

#if Relay
    internal import Dispatch
    internal import NIOConcurrencyHelpers
    internal import Tidings
    internal import TidingsLink

    final class RelayRequests: @unchecked Sendable {
        // Sendable: the driver's lock guards `offers`, `calls`, `tasks`, `epoch` and `turn`; `queue` alone uses
        // `proxies`, `wanted`, `local` and `told`.
        typealias Center = SharedNotificationCenter

        /// Nanoseconds between two questions for the names that are served here. A question takes a walk along the
        /// center's names.
        private static let interval: UInt64 = 100_000_000
        /// A question takes at most this part of the time.
        private static let share: UInt64 = 50
        /// Names of other machines that are served here. Each takes a thread.
        private static let most = 256

        /// The same center as another participant, so that its own servers can be told from others.
        private let center: Center
        private let hasServers: Bool
        private let onCore: @Sendable (@escaping (inout RelayCore) -> Void) -> Void
        private let onProblem: @Sendable (String) -> Void

        // With the driver's lock.
        /// By link: what its peer serves.
        private var offers: [Int: [LinkName]] = [:]
        private var calls: [UInt64: ForwardedCall] = [:]
        private var tasks: [UInt64: AnsweredCall] = [:]
        /// Changes with the core: numbers of calls belong to one core.
        private var epoch = 0
        private var turn = 0

        // The queue.
        private let queue = DispatchQueue(label: "tidings.relay.requests")
        private var proxies: [String: Center.Server] = [:]
        private var wanted: Set<String> = []
        private var local: Set<String> = []
        private var hasAsked = false
        private var isEnding = false
        private var problem = ""

        /// - Parameters:
        ///   - hasServers: some link serves names of this center.
        ///   - onCore: runs a closure later, on the thread of `run` and with the driver's lock.
        init(
            _ center: Center, hasServers: Bool,
            onCore: @escaping @Sendable (@escaping (inout RelayCore) -> Void) -> Void,
            onProblem: @escaping @Sendable (String) -> Void
        ) throws(RelayError) {
            do throws(SharedNotificationError) {
                self.center = try center.another()
            } catch {
                throw RelayError(.center, error.message)
            }
            self.hasServers = hasServers
            self.onCore = onCore
            self.onProblem = onProblem
            queue.async { self.ask() }
        }

        // MARK: - With the driver's lock

        func take(_ event: DialogEvent) {
            switch event {
            case .served(let link, let names):
                offers[link] = names
                let wanted = Set(offers.values.joined().map(\.text))
                queue.async {
                    self.wanted = wanted
                    self.update()
                }
            case .answer(let call, let answer):
                guard let forwarded = calls[call] else { return }
                if answer.isLast { calls[call] = nil }
                forwarded.deliver(answer)
            case .request(let id, _, let request): begin(request, id)
            case .cancel(let id):
                #if MUTANT_RELAY_CANCELS_NO_HANDLER  // Found by: relay requests hangs
                    if isMutant("RELAY_CANCELS_NO_HANDLER") { return }
                #endif
                tasks.removeValue(forKey: id)?.cancel()
            case .goOn(let id): tasks[id]?.goOn()
            case .joined, .left: break
            }
        }

        /// The core is another one: all calls end.
        func reset() {
            epoch += 1
            for call in calls.values { call.deliver(.serverEnded) }
            for task in tasks.values { task.cancel() }
            calls = [:]
            tasks = [:]
            offers = [:]
            queue.async {
                self.wanted = []
                self.hasAsked = false
                self.update()
            }
        }

        /// Ends all servers here. Waits for them.
        func end() {
            reset()
            queue.sync {
                isEnding = true
                for server in proxies.values { server.cancel() }
                proxies = [:]
            }
        }

        // MARK: - The queue

        /// Which names are served here by others: each time, and again after a while.
        private func ask() {
            guard !isEnding else { return }
            let before = RelayDriver.monotonic()
            askNow()
            let wait = max(Self.interval, Self.share * (RelayDriver.monotonic() - before))
            queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait))) { [weak self] in self?.ask() }
        }

        private func askNow() {
            guard let names = try? center.servedElsewhere() else { return }
            let found = Set(names)
            if found != local || !hasAsked, hasServers {
                let names = names.map { LinkName($0) }
                onCore { $0.setServed(names) }
            }
            hasAsked = true
            local = found
            #if MUTANT_RELAY_SERVES_BESIDE_OWN_SERVERS  // Found by: relay requests hangs
                if isMutant("RELAY_SERVES_BESIDE_OWN_SERVERS") { local = [] }
            #endif
            update()
        }

        /// Serves what other machines serve, unless a server here does: that one goes first, and calls on their way end
        /// as they would.
        private func update() {
            guard !isEnding else { return }
            for (name, server) in proxies {
                // Calls on their way have their answers first. Without a server elsewhere, new ones are refused.
                let isRunning = server.hold(local.contains(name)) > 0
                guard !isRunning, local.contains(name) || !wanted.contains(name) else { continue }
                server.cancel()
                proxies[name] = nil
            }
            for name in wanted where proxies[name] == nil && !local.contains(name) {
                guard proxies.count < Self.most else {
                    tell("servers of other machines have more than \(Self.most) names: \"\(name)\" is not served here")
                    break
                }
                do throws(SharedNotificationError) {
                    proxies[name] = try serve(name)
                } catch {
                    tell("can't serve requests of another machine here: \(error.message)")
                }
            }
        }

        private func tell(_ line: String) {
            guard line != problem else { return }
            problem = line
            onProblem(line)
        }

        private func serve(_ name: String) throws(SharedNotificationError) -> Center.Server {
            try center.serveRelayed(name: Center.Name(name), concurrency: LinkLimits().calls) {
                [weak self] payload, envelope, write in
                guard let self else { return .serverEnded }
                #if MUTANT_RELAY_FORWARDS_ITS_OWN_CALLS  // Found by: relay loops
                    let isOwn = isMutant("RELAY_FORWARDS_ITS_OWN_CALLS") ? false : envelope.isOwn
                #else
                    let isOwn = envelope.isOwn
                #endif
                // Invariant R4: what came by a link goes to no other one.
                if isOwn { return .noServer }
                let answer = await self.forward(
                    Request(
                        name: LinkName(name), isIdempotent: envelope.isIdempotent, format: payload.format.rawValue,
                        payload: payload.bytes), write)
                // A peer may answer so each time, at once: a call that a server had before is not received again.
                return answer == .serverEnded && envelope.isRepeated ? .noServer : answer
            }
        }

        // MARK: - Calls of this center

        private func forward(
            _ request: Request, _ write: @Sendable (Center.RawPayload) async throws -> Void
        ) async -> Center.RelayedAnswer {
            let call = ForwardedCall()
            return await withTaskCancellationHandler {
                var hasPart = false
                var answer = await call.answer { self.onCore { core in self.make(request, call, &core) } }
                while case .part(_, let format, let payload) = answer {
                    hasPart = true
                    do {
                        try await write(.init(format: .init(rawValue: format), bytes: payload))
                    } catch {
                        self.cancel(call)
                        return .failed("\(error)")
                    }
                    answer = await call.answer { self.onCore { core in self.goOn(call, &core) } }
                }
                // A server has received it.
                if hasPart, answer == .noServer { return .serverEnded }
                return Self.relayed(answer)
            } onCancel: {
                self.cancel(call)
            }
        }

        /// With the driver's lock. One of the links whose peers serve the name, each in turn.
        private func make(_ request: Request, _ call: ForwardedCall, _ core: inout RelayCore) {
            guard !call.isCancelled else { return call.deliver(.noServer) }
            let links = offers.keys.filter { offers[$0]!.contains(request.name) }.sorted()
            turn += 1
            var outcome = RequestOutcome.noServer
            for step in links.indices {
                outcome = core.request(request, link: links[(turn + step) % links.count])
                guard case .made(let number) = outcome else { continue }
                call.made(number, epoch)
                calls[number] = call
                return
            }
            switch outcome {
            case .tooLarge(let most):
                call.deliver(Self.failure("the other center accepts at most \(most) bytes"))
            case .full: call.deliver(Self.failure("too many requests wait for the link between the two centers"))
            case .noServer, .made: call.deliver(.noServer)
            }
        }

        private func goOn(_ call: ForwardedCall, _ core: inout RelayCore) {
            guard let (number, epoch) = call.number, epoch == self.epoch, calls[number] != nil else {
                return call.deliver(.serverEnded)
            }
            core.goOn(call: number)
        }

        private func cancel(_ call: ForwardedCall) {
            call.cancel()
            onCore { core in
                guard let (number, epoch) = call.number, epoch == self.epoch,
                    self.calls.removeValue(forKey: number) != nil
                else { return }
                core.cancel(call: number)
            }
        }

        private static func failure(_ why: String) -> Answer {
            .reply(code: 2, format: Center.PayloadFormat.text.rawValue, payload: Array(why.utf8))
        }

        private static func relayed(_ answer: Answer) -> Center.RelayedAnswer {
            switch answer {
            case .part(let code, let format, let payload):
                .part(code: code, .init(format: .init(rawValue: format), bytes: payload))
            case .reply(let code, let format, let payload):
                .reply(code: code, .init(format: .init(rawValue: format), bytes: payload))
            case .serverEnded: .serverEnded
            case .noServer: .noServer
            }
        }

        // MARK: - Calls of other machines

        private func begin(_ request: Request, _ id: UInt64) {
            let call = AnsweredCall()
            tasks[id] = call
            let epoch = epoch
            let answer: @Sendable (Center.RelayedAnswer) -> Void = { [weak self] answer in
                guard let self else { return }
                switch answer {
                // The peer learns first that the name has no server, so that it does not ask again.
                case .noServer, .serverEnded: self.queue.async { if !self.isEnding { self.askNow() } }
                default: break
                }
                self.queue.async {
                    self.onCore { core in
                        guard epoch == self.epoch else { return }
                        let sent = Self.sent(answer)
                        if sent.isLast { self.tasks[id] = nil }
                        core.answer(sent, to: id)
                    }
                }
            }
            call.start { [center] in
                let relayed = Center.RelayedRequest(center, Center.Name(request.name.text))
                let payload = Center.RawPayload(format: .init(rawValue: request.format), bytes: request.payload)
                do {
                    var result = try await relayed.begin(payload, isIdempotent: request.isIdempotent)
                    answer(result)
                    while case .part = result, await call.isWanted() {
                        result = try await relayed.next()
                        answer(result)
                    }
                } catch {
                    // Cancelled: the caller does not wait.
                }
            }
        }

        private static func sent(_ answer: Center.RelayedAnswer) -> Answer {
            switch answer {
            case .part(let code, let payload):
                .part(code: code, format: payload.format.rawValue, payload: payload.bytes)
            case .reply(let code, let payload):
                .reply(code: code, format: payload.format.rawValue, payload: payload.bytes)
            case .serverEnded: .serverEnded
            case .noServer: .noServer
            }
        }
    }

    /// A call of this center that a link carries. Its handler waits for one answer at a time.
    private final class ForwardedCall: Sendable {
        private struct State {
            var number: (UInt64, Int)?
            var waiting: UnsafeContinuation<Answer, Never>?
            var early: Answer?
            var isCancelled = false
        }
        private let state = NIOLockedValueBox(State())

        /// Its number in the core, and the core's epoch.
        var number: (UInt64, Int)? { state.withLockedValue { $0.number } }
        var isCancelled: Bool { state.withLockedValue { $0.isCancelled } }

        func made(_ number: UInt64, _ epoch: Int) { state.withLockedValue { $0.number = (number, epoch) } }

        /// Begins, and waits for the answer.
        func answer(_ begin: @Sendable () -> Void) async -> Answer {
            begin()
            return await withUnsafeContinuation { continuation in
                let early = state.withLockedValue { (state) -> Answer? in
                    if state.isCancelled { return .serverEnded }
                    defer { state.early = nil }
                    if state.early == nil { state.waiting = continuation }
                    return state.early
                }
                if let early { continuation.resume(returning: early) }
            }
        }

        func deliver(_ answer: Answer) {
            let waiting = state.withLockedValue { (state) -> UnsafeContinuation<Answer, Never>? in
                defer { state.waiting = nil }
                if state.waiting == nil { state.early = answer }
                return state.waiting
            }
            waiting?.resume(returning: answer)
        }

        func cancel() {
            let waiting = state.withLockedValue { (state) -> UnsafeContinuation<Answer, Never>? in
                state.isCancelled = true
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.resume(returning: .serverEnded)
        }
    }

    /// A call of another machine that a task makes here.
    private final class AnsweredCall: Sendable {
        private struct State {
            var task: Task<Void, Never>?
            var isNextWanted = false
            var isCancelled = false
            var waiting: UnsafeContinuation<Bool, Never>?
        }
        private let state = NIOLockedValueBox(State())

        func start(_ body: @escaping @Sendable () async -> Void) {
            let task = Task.detached { await body() }
            let isLate = state.withLockedValue {
                $0.task = task
                return $0.isCancelled
            }
            if isLate { task.cancel() }
        }

        /// Waits until the caller wants the next part. False: it does not wait any more.
        func isWanted() async -> Bool {
            await withUnsafeContinuation { continuation in
                let now = state.withLockedValue { (state) -> Bool? in
                    if state.isCancelled { return false }
                    defer { state.isNextWanted = false }
                    if state.isNextWanted { return true }
                    state.waiting = continuation
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        }

        func goOn() { wake(true) { $0.isNextWanted = true } }

        func cancel() {
            wake(false) { $0.isCancelled = true }
            state.withLockedValue { $0.task }?.cancel()
        }

        private func wake(_ isWanted: Bool, _ change: (inout State) -> Void) {
            let continuation = state.withLockedValue { (state) -> UnsafeContinuation<Bool, Never>? in
                if state.waiting == nil || !isWanted { change(&state) }
                defer { state.waiting = nil }
                return state.waiting
            }
            continuation?.resume(returning: isWanted)
        }
    }
#endif
