// Decoding for observers of a type or a key, and the report of what does not decode.
/// Decodes arrivals as messages of a type, and reports each arrival that does not decode.
struct Reading<M: SharedNotificationCenter.Message>: Sendable {
    private let undecodable: UndecodableReport

    init(
        _ type: M.Type, onUndecodable: (@Sendable (SharedNotificationCenter.Notification, any Error) -> Void)?,
        in core: CenterCore
    ) {
        core.types.note(type, name: M.name)
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
            message = try arrival.withBytes { try PayloadCoding.message(M.self, format: arrival.format, bytes: $0) }
        } catch {
            return undecodable.report(arrival, error)
        }
        body(message)
    }

    /// Returns `nil` if the arrival does not decode, which has been reported, or if it reports a cleared retained
    /// value.
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

    /// Returns `nil` if the arrival does not decode, which has been reported, or if it reports cleared retained
    /// arguments.
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

/// Where an observer reports arrivals that do not decode.
struct UndecodableReport: Sendable {
    /// `nil`: the report goes to the center's diagnostics.
    let onUndecodable: (@Sendable (SharedNotificationCenter.Notification, any Error) -> Void)?
    let diagnostics: Diagnostics

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
