/// Turns arrivals into messages of a type, and tells whoever is to be told when one is not.
struct Reading<M: SharedNotificationCenter.Message>: Sendable {
    private let onUndecodable: (@Sendable (SharedNotificationCenter.UndecodableMessage) -> Void)?
    private let diagnostics: Diagnostics

    init(
        _ type: M.Type, onUndecodable: (@Sendable (SharedNotificationCenter.UndecodableMessage) -> Void)?,
        in core: CenterCore
    ) {
        self.onUndecodable = onUndecodable
        diagnostics = core.diagnostics
    }

    /// Calls the closure with the message, or tells that it does not decode. As `message`, without an optional of a type that is
    /// unknown here: the runtime would look up what that is, each time.
    @inline(__always)
    func read(_ arrival: Arrival, _ body: (M) -> Void) {
        let message: M
        do {
            message = try arrival.withBytes { try PayloadCoding.message(M.self, format: arrival.format, bytes: $0) }
        } catch {
            return report(arrival, error)
        }
        body(message)
    }

    /// `nil`: it does not decode, and that has been told.
    func message(_ arrival: Arrival) -> M? {
        do {
            return try arrival.withBytes {
                try PayloadCoding.message(M.self, format: arrival.format, bytes: $0)
            }
        } catch {
            report(arrival, error)
            return nil
        }
    }

    @inline(never)
    private func report(_ arrival: Arrival, _ error: any Error) {
        diagnostics.countUndecodable()
        let message = SharedNotificationCenter.UndecodableMessage(notification: arrival.notification, error: error)
        if let onUndecodable { onUndecodable(message) } else { diagnostics.report(.undecodable(message)) }
    }
}
