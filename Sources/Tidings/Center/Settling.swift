// Posts that settle: before such a post returns, it has reached this center object's own observers. The module
// `TidingsFoundation` gives these functions Foundation's spelling, which does not throw. So failures are reported as
// diagnostics.
extension SharedNotificationCenter {
    // MARK: Posting

    /// Before this returns, this center object's own observers by `observeOnMainActor` have been called.
    @MainActor
    package func postSettlingOnMainActor<Value: Encodable>(_ value: Value, name: Name, subject: String?) {
        guard let sequence = posted(value, name: name, subject: subject) else { return }
        subjects.settleOnMainActor(name, subject, sequence, in: core.link.handle.incarnation)
    }

    /// Before this returns, this center object's own `settlingMessages` have the value in their buffers.
    package func postSettling<Value: Encodable>(_ value: Value, name: Name, subject: String?) {
        guard let sequence = posted(value, name: name, subject: subject) else { return }
        subjects.settle(name, subject, sequence, in: core.link.handle.incarnation)
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
        SettlingMessages<Value>(center: self, name: name, subject: subject, limit: limit)
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

private struct SettlingMessages<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    typealias Element = Value
    typealias Failure = Never

    let center: SharedNotificationCenter
    let name: SharedNotificationCenter.Name
    let subject: String?
    let limit: Int

    func makeAsyncIterator() -> Iterator {
        let core = center.core
        core.types.note(Value.self, name: name)
        let feed = Feed(
            core: core,
            subscription: SharedNotificationCenter.ObserverOptions(subject: subject).subscription(to: [name]),
            bounds: .sequence(limit, .newest), notesArrivals: true)
        if let observation = feed.observation { center.subjects.add(observation, name: name) }
        return Iterator(feed: feed, undecodable: UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics))
    }

    struct Iterator: AsyncIteratorProtocol {
        let feed: Feed
        let undecodable: UndecodableReport

        mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Value? {
            while let item = await feed.next(isolation: actor) {
                switch item {
                case .arrival(let arrival):
                    if let value = undecodable.decoded(Value.self, from: arrival) { return value }
                case .missed(let count, let name): feed.reportMissed(count, name, to: nil)
                case .reopened, .ended: continue
                }
            }
            return nil
        }
    }
}

extension UndecodableReport {
    /// Decodes a payload. `nil`: the payload does not decode, which has been reported, or the notification clears the
    /// retained value.
    func decoded<Value: Decodable>(_ type: Value.Type, from arrival: Arrival) -> Value? {
        guard !arrival.isCleared else { return nil }
        do {
            // As in Foundation, a notification without a payload is not a message, even if the type has no fields.
            return try arrival.withBytes {
                try PayloadCoding.decode(
                    type, format: SharedNotificationCenter.PayloadFormat(rawValue: arrival.format), bytes: $0)
            }
        } catch {
            report(arrival, error)
            return nil
        }
    }
}
