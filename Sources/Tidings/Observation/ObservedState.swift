public import Observation

extension SharedNotificationCenter {
    /// The value that is kept for a name, for those who track what they read: `withObservationTracking`, `Observations`, user interfaces.
    ///
    /// ```swift
    /// import Observation
    ///
    /// let volume = try SharedNotificationCenter.default.observedState(for: "com.example.volume", as: Double.self)
    /// withObservationTracking {
    ///     print(volume.value ?? 1)
    /// } onChange: {
    ///     print("somebody, in whatever process, has set it anew")
    /// }
    /// try volume.set(0.5)
    /// ```
    ///
    /// Promise: ``value`` is what ``SharedNotificationCenter/state(for:as:)`` would be, as of the last time the main actor was free: it
    /// follows whoever sets it, in any process, passes over what was set and replaced meanwhile, and never goes back. After `set(_:)` it is what
    /// was set, or something newer. It changes on the main actor only, where it is read as well: who tracks it there misses no change.
    ///
    /// A value that is not a `Value` is told to ``SharedNotificationCenter/onDiagnostic``, and the one before stays. It follows as long as it lives.
    @MainActor
    public final class ObservedState<Value: Codable & Sendable>: Observable {
        private let core: CenterCore
        private let name: Name
        private let post: (Value) throws(SharedNotificationError) -> Void
        private let decode: (RawPayload) throws -> Value
        private let registrar = ObservationRegistrar()
        private var raw: RawPayload?
        private var current: Value?
        private var anchor: ObservationAnchor?

        fileprivate init(
            _ name: Name, in core: CenterCore, decode: @escaping (RawPayload) throws -> Value,
            post: @escaping (Value) throws(SharedNotificationError) -> Void
        ) throws(SharedNotificationError) {
            self.core = core
            self.name = name
            self.decode = decode
            self.post = post
            let subscription = Subscription(
                names: [name], subject: nil, start: .now, excludesOwn: false, isLossless: false)
            anchor = try core.observe(
                subscription,
                // Of what was missed the last is in the center.
                onMissed: { [weak self] _, _ in MainActor.assumeIsolated { self?.arrived(nil) } }, tellsMoves: true,
                as: .mainActor { [weak self] in self?.arrived($0) })
            try refresh()
        }

        /// The value last set, by whatever process; `nil` if there is none, or it was cleared. Reading it is what is tracked.
        public var value: Value? {
            registrar.access(self, keyPath: \.value)
            return current
        }

        /// Sets it for everybody; ``value`` is that, or something newer, when this returns. The same as
        /// `SharedNotificationCenter.setState(_:for:deadline:)`.
        ///
        /// ```swift
        /// let volume = try SharedNotificationCenter.default.observedState(for: "com.example.volume", as: Double.self)
        /// try volume.set(0.5)
        /// try volume.clear()
        /// ```
        ///
        /// Waits for nobody.
        ///
        /// - Throws: ``SharedNotificationError``: `.encodingFailed`, `.payloadTooLarge`, `.noSpace`, `.full`, `.removed`, `.notPermitted` (the center
        ///   was opened for reading only); nothing was set then. `.decodingFailed` if meanwhile somebody has set what is not a `Value`.
        public func set(_ value: Value) throws(SharedNotificationError) {
            try post(value)
            try refresh()
        }

        /// Sets it for everybody; `nil` forgets it, as ``clear()`` does. For an example see `set(_:)`.
        ///
        /// - Throws: ``SharedNotificationError``: what `set(_:)` and ``clear()`` throw, such as `.full`.
        @_disfavoredOverload  // where `Value` is an optional itself, its `nil` is a value
        public func set(_ value: Value?) throws(SharedNotificationError) {
            if let value { try set(value) } else { try clear() }
        }

        /// Forgets it for everybody, as the center's `clearState(for:)` does; ``value`` is `nil`, or something newer,
        /// when this returns. For an example see `set(_:)`.
        ///
        /// - Throws: ``SharedNotificationError``: `.noSpace`, `.full`, `.removed`, `.notPermitted`; nothing was cleared then. `.decodingFailed` if
        ///   meanwhile somebody has set what is not a `Value`.
        public func clear() throws(SharedNotificationError) {
            try core.clearState(name: name)
            try refresh()
        }

        /// Something was posted under the name, kept or not.
        private func arrived(_ arrival: Arrival?) {
            do throws(SharedNotificationError) { try refresh() } catch {
                guard let arrival else { return core.diagnostics.report(.sequenceFailed(error)) }
                UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics).report(arrival, error)
            }
        }

        /// Takes what the center has now.
        private func refresh() throws(SharedNotificationError) {
            let new = try core.rawState(name: name)
            guard new != raw else { return }
            // Also if it is not a `Value`: that is told once.
            raw = new
            let value: Value?
            do { value = try new.map(decode) } catch {
                throw SharedNotificationError(
                    .decodingFailed,
                    message: "can't decode the state \"\(name)\" of center \"\(core.name)\" as \(Value.self): \(error)")
            }
            registrar.withMutation(of: self, keyPath: \.value) { current = value }
        }
    }

    /// The value that is kept for a name, as one that can be tracked. For the promise, and an example, see ``ObservedState``.
    ///
    /// - Parameters:
    ///   - name: what it is kept under.
    ///   - type: what it is encoded (as CBOR) and decoded as.
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if what is there is not a `Value`; as for any observer `.invalidName`, `.noSpace`
    ///   (for names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    @MainActor
    public func observedState<Value: Codable & Sendable>(
        for name: Name, as type: Value.Type = Value.self
    ) throws(SharedNotificationError) -> ObservedState<Value> {
        let core = core
        return try ObservedState(
            name, in: core, decode: { try $0.decode(type) },
            post: { (value) throws(SharedNotificationError) in
                _ = try core.post(
                    encoding: value, name: name, subject: nil, options: PostOptions(retain: true, deadline: nil))
            })
    }

    /// The value that is kept for a message type, as one that can be tracked. For the promise see ``ObservedState``.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let track = try SharedNotificationCenter.default.observedState(for: TrackChanged.self)
    /// print(track.value?.title ?? "silence")
    /// ```
    ///
    /// - Parameter type: the message type; it is kept under its ``Message/name``, and encoded as its ``Message/encoding`` says.
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if what is there is not an `M`; as for any observer `.invalidName`, `.noSpace` (for
    ///   names), `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
    @MainActor
    public func observedState<M: Message>(
        for type: M.Type = M.self
    ) throws(SharedNotificationError) -> ObservedState<M> {
        let core = core
        core.types.note(type, name: M.name)
        return try ObservedState(
            M.name, in: core,
            decode: { payload in
                try payload.bytes.withUnsafeBytes {
                    try PayloadCoding.message(type, format: payload.format.rawValue, bytes: $0)
                }
            },
            post: { (value) throws(SharedNotificationError) in
                _ = try core.post(value, subject: nil, options: PostOptions(retain: true, deadline: nil))
            })
    }
}
