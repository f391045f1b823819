// Decoding for observers of a type or a key, and the report of what does not decode.

/// Decodes arrivals as messages of a type, and reports each arrival that does not decode.
struct Reading<M: SharedNotificationCenter.Message>: Sendable {
    private let undecodable: UndecodableReport
    /// Whether a coder of the program's decodes: it reads a copy of a payload in place.
    private let isForeign: Bool

    init(
        _ type: M.Type, onUndecodable: (@Sendable (SharedNotificationCenter.Notification, any Error) -> Void)?,
        in core: CenterCore
    ) {
        core.types.note(type, name: M.name)
        isForeign = if case .custom = M.encoding.kind { true } else { false }
        undecodable = UndecodableReport(onUndecodable: onUndecodable, diagnostics: core.diagnostics)
    }

    /// Calls the closure with the message, or reports that the arrival does not decode.
    ///
    /// Unlike `message`, this function has no optional of the generic type: the runtime would resolve that type each
    /// time.
    @inline(__always)
    func read(_ arrival: Arrival, _ body: (M) -> Void) {
        guard !arrival.isCleared else { return }
        let message: M
        do {
            message = try decoded(arrival)
        } catch {
            return undecodable.report(arrival, error)
        }
        body(message)
    }

    @inline(__always)
    private func decoded(_ arrival: Arrival) throws -> M {
        let format = arrival.format
        if isForeign { return try arrival.withBytes { try PayloadCoding.message(M.self, format: format, bytes: $0) } }
        return try arrival.decoded { try PayloadCoding.message(M.self, format: format, bytes: $0, isShared: $1) }
    }

    func message(_ arrival: Arrival) -> M? { undecodable.decoded(arrival, decoded) }
}

/// Decodes arrivals as the arguments of a key, and reports each arrival that does not decode.
struct KeyReading<each Argument: Codable & Sendable>: Sendable {
    let key: SharedNotificationCenter.Key<repeat each Argument>
    private let undecodable: UndecodableReport

    init(
        _ key: SharedNotificationCenter.Key<repeat each Argument>,
        onUndecodable: (@Sendable (SharedNotificationCenter.Notification, any Error) -> Void)?, in core: CenterCore
    ) {
        core.types.note(PostedArguments<repeat each Argument>.self, name: key.name, needed: key.needed)
        self.key = key
        undecodable = UndecodableReport(onUndecodable: onUndecodable, diagnostics: core.diagnostics)
    }

    func arguments(_ arrival: Arrival) -> (repeat each Argument)? {
        undecodable.decoded(arrival) { arrival in
            try arrival.decoded { try key.arguments(format: arrival.format, bytes: $0, isShared: $1) }
        }
    }
}

/// Where an observer reports arrivals that do not decode.
struct UndecodableReport: Sendable {
    /// `nil`: the report goes to the center's diagnostics.
    let onUndecodable: (@Sendable (SharedNotificationCenter.Notification, any Error) -> Void)?
    let diagnostics: Diagnostics

    /// The decoded payload. `nil`: it does not decode, which has been reported, or the arrival reports that the
    /// retained value was cleared.
    func decoded<Value>(_ arrival: Arrival, _ decode: (Arrival) throws -> Value) -> Value? {
        guard !arrival.isCleared else { return nil }
        do {
            return try decode(arrival)
        } catch {
            report(arrival, error)
            return nil
        }
    }

    @inline(never)
    func report(_ arrival: Arrival, _ error: any Error) {
        diagnostics.countUndecodable()
        let notification = arrival.notification
        if let onUndecodable {
            onUndecodable(notification, error)
        } else {
            diagnostics.report(.undecodable(notification, error))
        }
    }
}
