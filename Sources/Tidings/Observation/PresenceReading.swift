/// The state of one iteration of `presence()`: turns notices into changes.
///
/// The participants that are present when the observer has registered are read from the center, and notices change this
/// list. After a loss, and in the next center, the list is read again.
final class PresenceReading: IterationReading {
    typealias Participant = SharedNotificationCenter.Participant
    typealias Change = SharedNotificationCenter.PresenceChange

    private struct State: Sendable {
        /// The participants of which the iteration has said that they are present.
        var present: [UInt64: Participant] = [:]
        var due: [Change] = []
        /// The position of the latest notice taken; `nil`: none was taken in this center.
        var sequence: UInt64?
    }

    private let core: CenterCore
    private let watch: PresenceWatch
    private let state = Locked(State())

    init(_ core: CenterCore) throws(SharedNotificationError) {
        self.core = core
        watch = try PresenceWatch(core.link)
    }

    func begin() { state.withLock(readAgain) }

    func take(_ item: Item) {
        switch item {
        case .arrival(let arrival): take(arrival)
        case .missed: state.withLock(readAgain)
        case .reopened:
            state.withLock { state in
                state.sequence = nil
                readAgain(&state)
            }
        case .ended: break
        }
    }

    func next() -> Change? { state.withLock { $0.due.isEmpty ? nil : $0.due.removeFirst() } }

    private func take(_ arrival: Arrival) {
        guard let notice = arrival.withBytes({ PresenceNotice(format: arrival.format, payload: $0) }) else {
            let error = SharedNotificationError(
                .decodingFailed, message: "can't read a notice of presence: its poster did not write it by the library")
            return UndecodableReport(onUndecodable: nil, diagnostics: core.diagnostics).report(arrival, error)
        }
        let sequence = arrival.envelope.sequence
        state.withLock { state in
            let id = notice.participant.id
            // Two copies of the iterator may take two notices in one order, and come here in the other one.
            if let last = state.sequence, sequence <= last { return readAgain(&state) }
            state.sequence = sequence
            if let departure = notice.departure {
                // A participant that is not known left before the list was read.
                if let known = state.present.removeValue(forKey: id) { state.due.append(.left(known, departure)) }
            } else if state.present[id] == nil {
                // A peer can invent any number of notices. A center has at most 4,096 participants.
                if state.present.count >= 4096 { return readAgain(&state) }
                state.present[id] = notice.participant
                state.due.append(.joined(notice.participant))
            }
        }
    }

    /// Reads the participants that are present, and adds the changes. With the lock held, so that no notice that is
    /// newer than the list is applied before it.
    private func readAgain(_ state: inout State) {
        let found = core.handle.present
        var present: [UInt64: Participant] = [:]
        for participant in found { present[participant.id] = state.present[participant.id] ?? participant }
        for (id, gone) in state.present where present[id] == nil { state.due.append(.left(gone, .unknown)) }
        for participant in found where state.present[participant.id] == nil {
            state.due.append(.joined(participant))
        }
        state.present = present
    }
}
