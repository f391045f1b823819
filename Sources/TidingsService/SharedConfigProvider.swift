#if Service
    public import Configuration
    public import Tidings

    /// A provider of swift-configuration whose values all processes of a center share.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// let shared = try SharedConfigProvider(center)
    /// let config = ConfigReader(providers: [EnvironmentVariablesProvider(), shared])
    /// try shared.set(["log.level": "debug", "http.port": 8080])           // in any process
    /// try await config.watchInt(forKey: "http.port", default: 80) { ports in
    ///     for try await port in ports { print(port) }                     // in every process
    /// }
    /// ```
    ///
    /// All values are one retained value of the center. So they stay after the last process has ended, and a process
    /// that starts later has them at once.
    ///
    /// Promise:
    /// - ``set(_:)`` sets several values at once: no process ever sees some of them without the others.
    /// - Each change wakes every watcher in every process; nothing polls. A watcher that is slow skips values, and
    ///   always receives the last one.
    /// - If processes set different keys at the same time, no value is lost. If they set one key, all processes have
    ///   the value of the later one in the center's order.
    /// - A payload that is not a configuration changes nothing, and is reported to `onDiagnostic` of the center.
    ///
    /// Values are readable for every process that may observe the center: a secret (`ConfigValue.isSecret`) is kept out
    /// of logs, not out of the center. Together they have at most the center's maximum payload size, 16 MiB unless
    /// configured. The context of a key is a part of the key.
    ///
    /// A shell sets them as JSON, all at once:
    /// `tidings state set com.example.player.config '{"values": {"http.port": 8080}}'`. Such a value replaces all.
    public final class SharedConfigProvider: ConfigProvider {
        private let center: SharedNotificationCenter
        private let name: SharedNotificationCenter.Name
        private let state: Locked<State>
        private let observation: Locked<SharedNotificationCenter.ObservationToken?>

        private struct State: Sendable {
            var config: ConfigState
            var lastWatcher = 0
            var valueWatchers: [Int: (key: String, continuation: AsyncStream<ConfigValue?>.Continuation)] = [:]
            var snapshotWatchers: [Int: AsyncStream<any ConfigSnapshot>.Continuation] = [:]
        }

        /// Reads the values of a center, and follows them while the provider exists.
        ///
        /// - Parameters:
        ///   - center: the center object. If it follows its name (`Configuration.followsName`), the provider goes on in
        ///     the next center, with the values there.
        ///   - name: the name of the retained value. `nil`: the center's name followed by `.config`.
        /// - Throws: ``SharedNotificationError``: `.decodingFailed` (the retained value is not a configuration),
        ///   `.invalidName`, `.noSpace`, `.tooManyObservers`, `.removed`, `.forked`, `.system`.
        public init(
            _ center: SharedNotificationCenter, name: SharedNotificationCenter.Name? = nil
        ) throws(SharedNotificationError) {
            self.center = center
            self.name = name ?? SharedNotificationCenter.Name(center.name + ".config")
            // The observer receives the retained value first, but on its own thread: the values are read here.
            state = Locked(State(config: ConfigState(in: center.incarnation)))
            observation = Locked(nil)
            if let read = try retained() {
                _ = state.withLock {
                    $0.config.arrived(read.config, at: read.position, in: center.incarnation, isOwn: false)
                }
            }
            let token = try center.addObserver(
                forNames: .init([self.name]),
                options: .init(onMissed: { [weak self] _, _ in self?.readAgain() }),
                suspensionBehavior: .deliverImmediately
            ) { [weak self] notification in self?.arrived(notification) }
            observation.withLock { $0 = token }
        }

        deinit {
            observation.withLock { $0 }?.cancel()
            for (_, continuation) in state.withLock({ $0.valueWatchers }).values { continuation.finish() }
            for continuation in state.withLock({ $0.snapshotWatchers }).values { continuation.finish() }
        }

        // MARK: Setting

        /// Sets values for all processes, at once; a value of `nil` removes the key. ``SharedConfigProvider`` has an
        /// example.
        ///
        /// Promise: when this call has returned, ``value(forKey:type:)`` of this object has these values, or later
        /// ones. Other keys keep their values. The call never waits for another process.
        ///
        /// - Throws: ``SharedNotificationError``; nothing was set then: `.payloadTooLarge` (all values together),
        ///   `.noSpace`, `.full`, `.removed`, `.notPermitted`, `.encodingFailed`.
        public func set(_ changes: [AbsoluteConfigKey: ConfigValue?]) throws(SharedNotificationError) {
            let changes = Dictionary(
                changes.map { ($0.key.description, $0.value) }, uniquingKeysWith: { _, last in last })
            guard !changes.isEmpty else { return }
            let position = try post(state.withLock { $0.config.changing(changes) })
            // The notification arrives on another thread. What this process has set is visible to it at once.
            apply { $0.posted(changes, at: position) }
        }

        private func post(_ config: RetainedConfig) throws(SharedNotificationError) -> UInt64 {
            let payload: SharedNotificationCenter.RawPayload
            do { payload = try .init(encoding: config) } catch {
                throw SharedNotificationError(
                    .encodingFailed, message: "can't set the configuration \"\(name)\": \(error)",
                    underlyingError: error)
            }
            return try center.post(name: name, payload: payload, options: .init(retain: true))
        }

        // MARK: Receiving

        /// On the dispatcher thread, in the center's order.
        private func arrived(_ notification: SharedNotificationCenter.Notification) {
            let envelope = notification.envelope
            var config = RetainedConfig.empty
            do {
                if !envelope.isCleared { config = try notification.payload.decode(RetainedConfig.self) }
            } catch { return center.report(.undecodable(notification, error)) }
            arrived(config, at: envelope.sequence, in: envelope.incarnation, isOwn: envelope.isOwn)
        }

        private func arrived(_ config: RetainedConfig, at position: UInt64, in incarnation: UInt64, isOwn: Bool) {
            let repair = apply { $0.arrived(config, at: position, in: incarnation, isOwn: isOwn) }
            // A failure leaves the values of the running processes as they are.
            if let repair, let position = try? post(repair) { apply { $0.posted([:], at: position) } }
        }

        /// After a loss.
        private func readAgain() {
            do throws(SharedNotificationError) {
                guard let read = try retained() else { return }
                arrived(read.config, at: read.position, in: center.incarnation, isOwn: false)
            } catch { center.report(.observerFailed(name, error)) }
        }

        private func retained() throws(SharedNotificationError) -> (config: RetainedConfig, position: UInt64)? {
            guard let (payload, position) = try center.retained(name) else { return nil }
            do { return (try payload.decode(RetainedConfig.self), position) } catch {
                throw SharedNotificationError(
                    .decodingFailed, message: "can't read the configuration \"\(name)\": \(error)",
                    underlyingError: error)
            }
        }

        /// Changes the values, and informs the watchers.
        private func apply<Result>(_ change: (inout ConfigState) -> Result) -> Result {
            state.withLock { state in
                let result = change(&state.config)
                // With the lock held, so that no watcher ends with an older value. Each stream keeps the newest value,
                // and its reader skips a value that it has.
                for (key, continuation) in state.valueWatchers.values {
                    continuation.yield(state.config.entries[key]?.value)
                }
                if !state.snapshotWatchers.isEmpty {
                    let snapshot = Snapshot(providerName: providerName, values: state.config.values)
                    for continuation in state.snapshotWatchers.values { continuation.yield(snapshot) }
                }
                return result
            }
        }

        // MARK: ConfigProvider

        /// `SharedConfigProvider` and the name of the retained value, for logs and access reporters.
        public var providerName: String { "SharedConfigProvider[\(name)]" }

        /// The value that this process has received last, as ``SharedConfigProvider`` promises. Never waits.
        ///
        /// - Throws: ``SharedNotificationError``: `.decodingFailed` if the value is of another type. An integer is a
        ///   `double`, too.
        public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
            try Self.lookup(state.withLock { $0.config.entries[key.description]?.value }, key, type)
        }

        /// The value as the center has it now, which this process may receive a little later
        /// (``value(forKey:type:)``). ``SharedConfigProvider`` has an example.
        ///
        /// - Throws: as ``value(forKey:type:)``; also what reading a retained value throws: `.invalidName`, `.system`
        ///   (`EBUSY`).
        public nonisolated(nonsending) func fetchValue(
            forKey key: AbsoluteConfigKey, type: ConfigType
        ) async throws -> LookupResult {
            let read = try retained()
            return try Self.lookup(read?.config.entries(at: 0)[key.description]?.value, key, type)
        }

        /// Passes the present value, and then each change by any process, as ``SharedConfigProvider`` promises and
        /// shows.
        ///
        /// - Throws: what `updatesHandler` throws. A value of another type is an element that failed.
        public nonisolated(nonsending) func watchValue<Return: ~Copyable>(
            forKey key: AbsoluteConfigKey, type: ConfigType,
            updatesHandler:
                nonisolated(nonsending) (
                    _ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>
                ) async throws -> Return
        ) async throws -> Return {
            let (stream, continuation) = AsyncStream<ConfigValue?>.makeStream(bufferingPolicy: .bufferingNewest(1))
            let number = state.withLock { state in
                state.lastWatcher += 1
                state.valueWatchers[state.lastWatcher] = (key.description, continuation)
                continuation.yield(state.config.entries[key.description]?.value)
                return state.lastWatcher
            }
            defer { state.withLock { _ = $0.valueWatchers.removeValue(forKey: number) } }
            let results = ChangesOnly(base: stream) { value -> Result<LookupResult, any Error> in
                do { return .success(try Self.lookup(value, key, type)) } catch { return .failure(error) }
            }
            return try await updatesHandler(ConfigUpdatesAsyncSequence(results))
        }

        /// All values that this process has received last, at one moment, as ``SharedConfigProvider`` promises.
        public func snapshot() -> any ConfigSnapshot {
            Snapshot(providerName: providerName, values: state.withLock { $0.config.values })
        }

        /// Passes the present values, and then all values after each change by any process, as ``SharedConfigProvider``
        /// promises.
        ///
        /// - Throws: what `updatesHandler` throws.
        public nonisolated(nonsending) func watchSnapshot<Return: ~Copyable>(
            updatesHandler:
                nonisolated(nonsending) (
                    _ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>
                ) async throws -> Return
        ) async throws -> Return {
            let (stream, continuation) = AsyncStream<any ConfigSnapshot>.makeStream(
                bufferingPolicy: .bufferingNewest(1))
            let number = state.withLock { state in
                state.lastWatcher += 1
                state.snapshotWatchers[state.lastWatcher] = continuation
                continuation.yield(Snapshot(providerName: providerName, values: state.config.values))
                return state.lastWatcher
            }
            defer { state.withLock { _ = $0.snapshotWatchers.removeValue(forKey: number) } }
            return try await updatesHandler(ConfigUpdatesAsyncSequence(stream))
        }

        private struct Snapshot: ConfigSnapshot {
            let providerName: String
            let values: [String: ConfigValue]

            func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
                try SharedConfigProvider.lookup(values[key.description], key, type)
            }
        }

        private static func lookup(
            _ value: ConfigValue?, _ key: AbsoluteConfigKey, _ type: ConfigType
        ) throws(SharedNotificationError) -> LookupResult {
            guard var value else { return LookupResult(encodedKey: key.description, value: nil) }
            guard let content = value.content.converted(to: type) else {
                throw SharedNotificationError(
                    .decodingFailed,
                    message: "can't read the configuration value \"\(key)\" as \(type.rawValue): it is of another type")
            }
            value.content = content
            return LookupResult(encodedKey: key.description, value: value)
        }
    }

    /// The values of a stream without a value that equals the one before it.
    private struct ChangesOnly<Output: Sendable>: AsyncSequence, Sendable {
        typealias Element = Output
        typealias Failure = Never
        let base: AsyncStream<ConfigValue?>
        let transform: @Sendable (ConfigValue?) -> Output

        init(base: AsyncStream<ConfigValue?>, _ transform: @escaping @Sendable (ConfigValue?) -> Output) {
            self.base = base
            self.transform = transform
        }

        func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), transform: transform) }

        struct Iterator: AsyncIteratorProtocol {
            typealias Element = Output
            typealias Failure = Never
            var base: AsyncStream<ConfigValue?>.Iterator
            let transform: @Sendable (ConfigValue?) -> Output
            /// The value before; `nil`: there was none.
            var before: ConfigValue??

            mutating func next(isolation actor: isolated (any Actor)?) async -> Output? {
                while let value = await base.next(isolation: actor) {
                    if let before, before == value { continue }
                    before = .some(value)
                    return transform(value)
                }
                return nil
            }
        }
    }
#endif
