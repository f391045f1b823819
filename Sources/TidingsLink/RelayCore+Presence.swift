// Participants of other centers. Docs/Design/Relay.md, section 10, has the invariants.

/// A participant that has announced itself, as its center's relay states it.
package struct RemoteParticipant: Hashable, Sendable {
    package let id: UInt64
    package let pid: Int32
    package let uid: UInt32
    /// At most 64 bytes without NUL.
    package let role: String
    /// At most 79 bytes without NUL.
    package let executable: String

    /// Shortens texts that are too long: one that was not UTF-8 is longer than in its center.
    package init(id: UInt64, pid: Int32, uid: UInt32, role: String, executable: String) {
        self.id = id
        self.pid = pid
        self.uid = uid
        self.role = Self.shortened(role, Self.roleLimit)
        self.executable = Self.shortened(executable, Self.executableLimit)
    }

    /// Whole characters.
    private static func shortened(_ text: String, _ limit: Int) -> String {
        #if MUTANT_TEXTS_NOT_SHORTENED  // Found by: link --calls 2
            return text
        #else
            var bytes = Array(text.utf8.prefix { $0 != 0 }.prefix(limit))
            while true {
                if let text = String(validating: bytes, as: UTF8.self) { return text }
                bytes.removeLast()
            }
        #endif
    }

    static let roleLimit = 64
    static let executableLimit = 79

    /// Bytes, about.
    var size: Int { role.utf8.count + executable.utf8.count + 24 }
}

/// How a participant left.
package enum RemoteDeparture: UInt8, Hashable, Sendable {
    case closed, died
    /// It was not there any more when the link came back.
    case unknown
}

/// What this center knows of the participants of a peer. It outlives a session.
struct PresenceView: Sendable {
    /// Of the peer's center.
    var center = Origin(incarnation: 0)
    var participants: [UInt64: RemoteParticipant] = [:]
    /// When the peer was heard last.
    var heardAt: UInt64 = 0
}

extension RelayCore {
    // MARK: - Of this center

    /// A participant of this center has announced itself. It is not told if no peer accepts its id: 2^62 or above. The
    /// library gives no such id.
    package mutating func joined(_ participant: RemoteParticipant) {
        guard participant.id < LinkLimits.number else { return }
        guard present[participant.id] == nil, present.count < limits.participants else { return }
        present[participant.id] = participant
        for link in links.indices where announces(link) { links[link].dialog.append(.joined(participant)) }
    }

    /// It has left.
    package mutating func left(_ id: UInt64, _ how: RemoteDeparture) {
        guard present.removeValue(forKey: id) != nil else { return }
        for link in links.indices where announces(link) { links[link].dialog.append(.left(id: id, how)) }
    }

    private mutating func announces(_ link: Int) -> Bool {
        links[link].isEstablished && links[link].configuration.announces && !links[link].dialog.isBehind
            && canTell(link)
    }

    /// A dialog begins with all participants.
    mutating func tellParticipants(_ link: Int) {
        guard links[link].configuration.announces else { return }
        links[link].dialog.append(.participants(present.values.sorted { $0.id < $1.id }))
    }

    // MARK: - Of peers

    /// Invariant P2: only what the link shows, and only so many.
    mutating func take(participants: [RemoteParticipant], _ link: Int) {
        guard links[link].configuration.shows, let center = links[link].peer?.center else { return }
        if links[link].view.center.incarnation != center.incarnation { allDied(link) }
        links[link].view.center = center
        let listed = Set(participants.map(\.id))
        for id in links[link].view.participants.keys.sorted() where !listed.contains(id) {
            takeLeft(id, .unknown, link)
        }
        for participant in participants { takeJoined(participant, link) }
    }

    /// The peer has listed its center's participants. Before that, what it tells is not attributed to the center that
    /// the link showed before (invariant P3).
    private func isListed(_ link: Int) -> Bool {
        let view = links[link].view.center.incarnation
        return view != 0 && view == links[link].peer?.center.incarnation
    }

    mutating func takeJoined(_ participant: RemoteParticipant, _ link: Int) {
        guard links[link].configuration.shows, isListed(link),
            links[link].view.participants[participant.id] == nil
        else { return }
        #if !MUTANT_PARTICIPANTS_UNBOUNDED  // Found by: link --calls 1
            guard links[link].view.participants.count < limits.participants else { return }
        #endif
        links[link].view.participants[participant.id] = participant
        eventBytes += participant.size
        events.append(.joined(link: link, links[link].view.center, participant))
    }

    mutating func takeDeparture(_ id: UInt64, _ how: RemoteDeparture, _ link: Int) {
        if isListed(link) { takeLeft(id, how, link) }
    }

    private mutating func takeLeft(_ id: UInt64, _ how: RemoteDeparture, _ link: Int) {
        guard let participant = links[link].view.participants.removeValue(forKey: id) else { return }
        eventBytes += participant.size
        events.append(.left(link: link, links[link].view.center, participant, how))
    }

    private mutating func allDied(_ link: Int) {
        for id in links[link].view.participants.keys.sorted() { takeLeft(id, .died, link) }
    }

    /// Invariant P1: the participants of a machine that is silent for too long have died.
    mutating func endViews() {
        #if !MUTANT_VIEWS_OUTLIVE_THE_MACHINE  // Found by: link --calls 26
            for link in links.indices
            where !links[link].view.participants.isEmpty && now > links[link].view.heardAt + limits.silence {
                allDied(link)
            }
        #endif
    }

    /// For tests.
    package func participants(onLink link: Int) -> [RemoteParticipant] {
        links[link].view.participants.values.sorted { $0.id < $1.id }
    }
}
