/// The state of one iteration of `remotePresence()`: compares each value of the relay with the one before.
final class RemotePresenceReading: IterationReading {
    typealias Change = SharedNotificationCenter.RemotePresenceChange

    private struct Key: Hashable {
        var incarnation: UInt64
        var id: UInt64
    }

    private struct State: Sendable {
        var present: [Key: SharedNotificationCenter.RemoteParticipant] = [:]
        var due: [Change] = []
        var sequence: UInt64?
    }

    private let core: CenterCore
    /// If the relay dies, its last will is posted.
    private let watch: PresenceWatch
    private let state = Locked(State())

    init(_ core: CenterCore) throws(SharedNotificationError) {
        self.core = core
        watch = try PresenceWatch(core.link)
    }

    func begin() {}

    func take(_ item: Item) {
        switch item {
        case .arrival(let arrival):
            let sequence = arrival.envelope.sequence
            let value = arrival.withBytes { bytes in
                try? PayloadCoding.decode(
                    RelayedPresence.self, format: PayloadCoding.Format(rawValue: arrival.format), bytes: bytes)
            }
            state.withLock { state in
                // Two copies of the iterator may take two values in one order, and come here in the other one.
                if let last = state.sequence, sequence <= last { return }
                state.sequence = sequence
                // A clear, or what no relay writes: none is shown.
                apply(value ?? RelayedPresence(), &state)
            }
        case .reopened:
            state.withLock { state in
                state.sequence = nil
                apply(RelayedPresence(), &state)
            }
        // Lost values are replaced by the next one.
        case .missed, .ended: break
        }
    }

    func next() -> Change? { state.withLock { $0.due.isEmpty ? nil : $0.due.removeFirst() } }

    private func apply(_ value: RelayedPresence, _ state: inout State) {
        var found: [Key: SharedNotificationCenter.RemoteParticipant] = [:]
        for entry in value.participants.prefix(RelayedPresence.most) {
            let key = Key(incarnation: entry.incarnation, id: entry.id)
            found[key] = state.present[key] ?? entry.remote
        }
        var reasons: [Key: UInt8] = [:]
        for gone in value.gone { reasons[Key(incarnation: gone.incarnation, id: gone.id)] = gone.how }
        let left = state.present.filter { found[$0.key] == nil }
        for (key, one) in left.sorted(by: { $0.key.id < $1.key.id }) {
            let how: SharedNotificationCenter.Departure =
                switch reasons[key] {
                case 0: .closed
                case 1: .died
                default: .unknown
                }
            state.due.append(.left(one, how))
        }
        for entry in value.participants.prefix(RelayedPresence.most) {
            let key = Key(incarnation: entry.incarnation, id: entry.id)
            if state.present[key] == nil, let one = found[key] {
                state.present[key] = one
                state.due.append(.joined(one))
            }
        }
        state.present = found
    }
}
