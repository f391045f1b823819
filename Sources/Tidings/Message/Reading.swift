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
