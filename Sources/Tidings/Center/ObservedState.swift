// The retained value of a name as an `Observable` object on the main actor.

public import Observation

extension SharedNotificationCenter {
    /// The retained value of a name, as an object for `withObservationTracking`, `Observations` and user interfaces.
    ///
    /// ```swift
    /// import Observation
    ///
    /// let volume = try SharedNotificationCenter.default.observedState(for: "com.example.volume", as: Double.self)
    /// withObservationTracking {
    ///     print(volume.value ?? 1)
    /// } onChange: {
    ///     print("a process has set the value")
    /// }
    /// try volume.set(0.5)
    /// ```
    ///
    /// Promise: ``value`` is what ``SharedNotificationCenter/state(for:as:)`` returned at the last time when the main
    /// actor was free. The object follows every process that sets the value. It may skip a value that was replaced in
    /// the meantime, and it never returns to an older value. After `set(_:)`, ``value`` is the value that was set, or a
    /// newer one. ``value`` is read and changed on the main actor only, so a tracker on the main actor misses no
    /// change.
    ///
    /// If a retained value does not decode as `Value`, ``SharedNotificationCenter/onDiagnostic`` receives it, and
    /// ``value`` keeps the previous value. The object follows the center while it is alive.
    @MainActor
    public final class ObservedState<Value: Codable & Sendable>: Observable {
        private let core: CenterCore
        private let posting: PostingCore
        private let name: Name
        private let post: (Value) throws(SharedNotificationError) -> Void
        private let decode: (RawPayload) throws -> Value
        private let registrar = ObservationRegistrar()
        private var raw: RawPayload?
        private var current: Value?
        private var anchor: ObservationAnchor?

        fileprivate init(
            _ name: Name, in center: SharedNotificationCenter, decode: @escaping (RawPayload) throws -> Value,
            post: @escaping (Value) throws(SharedNotificationError) -> Void
        ) throws(SharedNotificationError) {
            core = center.core
            posting = center.posting
            self.name = name
            self.decode = decode
            self.post = post
            anchor = try core.observe(
                ObserverOptions().subscription(to: [name]),
                // After a loss, the latest value is still in the center.
                onMissed: { [weak self] _, _ in MainActor.assumeIsolated { self?.arrived(nil) } }, tellsMoves: true,
                as: .mainActor { [weak self] in self?.arrived($0) })
            try refresh()
        }

        /// The latest value that any process set; `nil` if there is none, or it was cleared. Reading this property is
        /// tracked.
        public var value: Value? {
            registrar.access(self, keyPath: \.value)
            return current
        }

        /// Sets the value for all processes, as `setState(_:for:timeout:)` does. When this call returns, ``value`` is
        /// this value, or a newer one. Waits as `post(_:options:)` of the center does.
        ///
        /// - Throws: ``SharedNotificationError``: `.encodingFailed`, `.payloadTooLarge`, `.noSpace`, `.full`,
        ///   `.removed`, `.notPermitted` (the center was opened read-only). The value is not set then.
        ///   After it was set: `.decodingFailed` if a process has meanwhile set a value that does not decode as
        ///   `Value`, `.system` (`EBUSY`) if other processes replaced the value each time it was copied.
        public func set(_ value: Value) throws(SharedNotificationError) {
            try post(value)
            try refresh()
        }

        /// Clears the value for all processes, as the center's `setState(_:for:timeout:)` with `nil`
        /// does. When this call returns, ``value`` is `nil`, or a newer value.
        ///
        /// - Throws: ``SharedNotificationError``: `.noSpace`, `.full`, `.removed`, `.notPermitted`; the value is not
        ///   cleared then. After it was cleared: `.decodingFailed` and `.system` (`EBUSY`), as `set(_:)`.
        public func clear() throws(SharedNotificationError) {
            try posting.clearState(name: name)
            try refresh()
        }

        /// A notification of the name has arrived, retained or not; `nil`: after a loss, or in another center.
        private func arrived(_ arrival: Arrival?) {
            do throws(SharedNotificationError) { try refresh() } catch {
                guard let arrival, error.code == .decodingFailed, let cause = error.underlyingError else {
                    return core.diagnostics.report(.observerFailed(name, error))
                }
                UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics).report(arrival, cause)
            }
        }

        /// Reads the center's retained value.
        private func refresh() throws(SharedNotificationError) {
            let new = try posting.rawState(name: name)?.payload
            guard new != raw else { return }
            // Also for a value that does not decode as `Value`, so that it is reported once.
            raw = new
            let value: Value?
            do { value = try new.map(decode) } catch { throw posting.decodingFailed(name, as: Value.self, error) }
            registrar.withMutation(of: self, keyPath: \.value) { current = value }
        }
    }

    /// The retained value of a name, as an object whose value can be tracked, as ``ObservedState`` promises and shows.
    ///
    /// - Parameters:
    ///   - name: the name of the retained value.
    ///   - type: the type that the value is encoded from (as CBOR) and decoded as.
    /// - Throws: ``SharedNotificationError``: `.decodingFailed` if the retained value does not decode as `Value`; as
    ///   for any observer `.invalidName`, `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`, `.removed`,
    ///   `.forked`, `.system` (also `EBUSY`, as ``state(for:as:)``).
    @MainActor
    public func observedState<Value: Codable & Sendable>(
        for name: Name, as type: Value.Type = Value.self
    ) throws(SharedNotificationError) -> ObservedState<Value> {
        let posting = posting
        return try ObservedState(
            name, in: self, decode: { try $0.decode(type) },
            post: { (value) throws(SharedNotificationError) in
                _ = try posting.post(encoding: value, name: name, subject: nil, PostFlags(isRetained: true))
            })
    }

    /// The retained value of a message type, as an object whose value can be tracked, as ``ObservedState`` shows. It is
    /// retained under the type's ``Message/name``, in its ``Message/encoding``.
    ///
    /// - Throws: as ``observedState(for:as:)``.
    @MainActor
    public func observedState<M: Message>(
        for type: M.Type = M.self
    ) throws(SharedNotificationError) -> ObservedState<M> {
        let posting = posting
        core.types.note(type, name: M.name)
        return try ObservedState(
            M.name, in: self,
            decode: { payload in
                try payload.withPointer {
                    try PayloadCoding.message(type, format: payload.format.rawValue, bytes: $0)
                }
            },
            post: { (value) throws(SharedNotificationError) in
                _ = try posting.post(value, subject: nil, PostFlags(isRetained: true))
            })
    }
}
