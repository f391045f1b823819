/// Turns arrivals into messages of a type, and tells whoever is to be told when one is not.
struct Reading<M: SharedNotificationCenter.Message>: Sendable {
    private let undecodable: UndecodableReport

    init(
        _ type: M.Type, onUndecodable: (@Sendable (SharedNotificationCenter.UndecodableMessage) -> Void)?,
        in core: CenterCore
    ) {
        core.types.note(type, name: M.name)
        undecodable = UndecodableReport(onUndecodable: onUndecodable, diagnostics: core.diagnostics)
    }

    /// Calls the closure with the message, or tells that it does not decode. As `message`, without an optional of a type that is
    /// unknown here: the runtime would look up what that is, each time.
    @inline(__always)
    func read(_ arrival: Arrival, _ body: (M) -> Void) {
        guard !arrival.isCleared else { return }
        let message: M
        do {
            message = try arrival.withBytes { try PayloadCoding.message(M.self, format: arrival.format, bytes: $0) }
        } catch {
            return undecodable.report(arrival, error)
        }
        body(message)
    }

    /// `nil`: it does not decode, and that has been told, or says that the kept value was cleared.
    func message(_ arrival: Arrival) -> M? {
        guard !arrival.isCleared else { return nil }
        do {
            return try arrival.withBytes {
                try PayloadCoding.message(M.self, format: arrival.format, bytes: $0)
            }
        } catch {
            undecodable.report(arrival, error)
            return nil
        }
    }
}

/// Turns arrivals into the arguments of a key, likewise.
struct KeyReading<each Argument: Codable & Sendable>: Sendable {
    let key: SharedNotificationCenter.Key<repeat each Argument>
    private let undecodable: UndecodableReport

    init(
        _ key: SharedNotificationCenter.Key<repeat each Argument>,
        onUndecodable: (@Sendable (SharedNotificationCenter.UndecodableMessage) -> Void)?, in core: CenterCore
    ) {
        core.types.note(PostedArguments<repeat each Argument>.self, name: key.name, needed: key.needed)
        self.key = key
        undecodable = UndecodableReport(onUndecodable: onUndecodable, diagnostics: core.diagnostics)
    }

    /// `nil`: they do not decode, and that has been told, or the kept ones were cleared.
    func arguments(_ arrival: Arrival) -> (repeat each Argument)? {
        guard !arrival.isCleared else { return nil }
        do {
            return try arrival.withBytes { try key.arguments(format: arrival.format, bytes: $0) }
        } catch {
            undecodable.report(arrival, error)
            return nil
        }
    }
}

/// Whom to tell of what does not decode.
struct UndecodableReport: Sendable {
    /// `nil`: the center's diagnostics are told.
    let onUndecodable: (@Sendable (SharedNotificationCenter.UndecodableMessage) -> Void)?
    let diagnostics: Diagnostics

    @inline(never)
    func report(_ arrival: Arrival, _ error: any Error) {
        diagnostics.countUndecodable()
        let message = SharedNotificationCenter.UndecodableMessage(notification: arrival.notification, error: error)
        if let onUndecodable { onUndecodable(message) } else { diagnostics.report(.undecodable(message)) }
    }
}
