// Posts that settle: before such a post returns, it has reached this center object's own observers. The module
// `TidingsFoundation` spells them as Foundation does, without `throws`, so failures are reported as diagnostics.
extension SharedNotificationCenter {
    // MARK: Posting

    /// Before this returns, this center object's own observers by `observeOnMainActor` have been called.
    @MainActor
    package func postSettlingOnMainActor<Value: Encodable>(_ value: Value, name: Name, subject: String?) {
        let incarnation = core.link.handle.incarnation
        guard let sequence = posted(value, name: name, subject: subject) else { return }
        subjects.settleOnMainActor(name, subject, sequence, in: incarnation)
    }

    /// Before this returns, this center object's own `settlingMessages` have the value in their buffers.
    package func postSettling<Value: Encodable>(_ value: Value, name: Name, subject: String?) {
        // Read before the post. If the center object continues in another center meanwhile, the observers leave this
        // incarnation, and the wait ends. A later incarnation may have no such position for hours.
        let incarnation = core.link.handle.incarnation
        guard let sequence = posted(value, name: name, subject: subject) else { return }
        subjects.settle(name, subject, sequence, in: incarnation)
    }

    private func posted<Value: Encodable>(_ value: Value, name: Name, subject: String?) -> UInt64? {
        do throws(SharedNotificationError) {
            return try post(encoding: value, name: name, as: Value.self, options: PostOptions(subject: subject))
        } catch {
            core.diagnostics.report(.postFailed(name, error))
            return nil
        }
    }

    // MARK: Observing

    package func observeOnMainActor<Value: Decodable & SendableMetatype>(
        name: Name, subject: String?, _ observer: @escaping @MainActor (Value) -> Void
    ) -> ObservationToken {
        core.types.note(Value.self, name: name)
        let undecodable = UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics)
        let token = observe(
            name, subject, notesArrivals: true,
            as: .mainActor { arrival in
                // Decode on the main actor: `Value` need not be `Sendable`, so its value must not cross threads.
                if let value = undecodable.decoded(Value.self, from: arrival) { observer(value) }
            })
        if let observation = token.anchor?.observation { subjects.add(observation, name: name) }
        return token
    }

    package func observeInTask<Value: Decodable & Sendable>(
        name: Name, subject: String?, _ observer: @escaping @Sendable (Value) async -> Void
    ) -> ObservationToken {
        core.types.note(Value.self, name: name)
        let undecodable = UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics)
        return observe(
            name, subject, notesArrivals: false,
            as: .task(nil) { arrival in
                if let value = undecodable.decoded(Value.self, from: arrival) { await observer(value) }
            })
    }

    package func settlingMessages<Value: Decodable & Sendable>(
        _ type: Value.Type, name: Name, subject: String?, limit: Int
    ) -> some AsyncSequence<Value, Never> & Sendable {
        core.types.note(Value.self, name: name)
        let undecodable = UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics)
        var messages = messages([name], ObserverOptions(subject: subject), .sequence(limit, .newest)) {
            undecodable.decoded(Value.self, from: $0)
        }
        messages.settling = { [subjects] in subjects.add($0, name: name) }
        return messages
    }

    private func observe(_ name: Name, _ subject: String?, notesArrivals: Bool, as manner: Manner) -> ObservationToken {
        do throws(SharedNotificationError) {
            let subscription = ObserverOptions(subject: subject).subscription(to: [name])
            return ObservationToken(
                anchor: try core.observe(subscription, onMissed: nil, notesArrivals: notesArrivals, as: manner))
        } catch {
            core.diagnostics.report(.observerFailed(name, error))
            return ObservationToken(anchor: nil)
        }
    }

    /// Whether the token is of an observer of this center object.
    package func isOwn(_ token: ObservationToken) -> Bool {
        token.anchor?.observation.diagnostics === core.diagnostics
    }
}

extension UndecodableReport {
    fileprivate func decoded<Value: Decodable>(_ type: Value.Type, from arrival: Arrival) -> Value? {
        // As in Foundation, a notification without a payload is not a message, even if the type has no fields.
        decoded(arrival) { arrival in
            let format = PayloadCoding.Format(rawValue: arrival.format)
            return try arrival.decoded { try PayloadCoding.decode(type, format: format, bytes: $0, isShared: $1) }
        }
    }
}
