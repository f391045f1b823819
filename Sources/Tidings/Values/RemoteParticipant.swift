// The participants of other machines: what a relay shows of them.

extension SharedNotificationCenter {
    /// A participant of another machine's center, as that center's relay states it.
    ///
    /// ```swift
    /// func line(_ one: SharedNotificationCenter.RemoteParticipant) -> String {
    ///     "\(one.participant.role) on \(one.host)"
    /// }
    /// ```
    public struct RemoteParticipant: Hashable, Sendable {
        /// The participant. Its ``Participant/id`` is unique within its center.
        public var participant: Participant
        /// The name of its machine, at most 255 bytes.
        public var host: String
        /// The name of its center there, at most 255 bytes.
        public var center: String
        /// The ``SharedNotificationCenter/incarnation`` of its center there.
        public var incarnation: UInt64

        /// Creates a participant, for tests of code that receives one.
        public init(participant: Participant, host: String, center: String, incarnation: UInt64) {
            self.participant = participant
            self.host = host
            self.center = center
            self.incarnation = incarnation
        }
    }

    /// An element of ``SharedNotificationCenter/remotePresence()``.
    ///
    /// ```swift
    /// func tell(_ change: SharedNotificationCenter.RemotePresenceChange) {
    ///     switch change {
    ///     case .joined(let one): print("\(one.participant.role) is on \(one.host)")
    ///     case .left(let one, let departure): print("\(one.participant.role) left \(one.host): \(departure)")
    ///     }
    /// }
    /// ```
    public enum RemotePresenceChange: Hashable, Sendable {
        /// The participant is present on its machine from here on.
        case joined(RemoteParticipant)
        /// It is not present any more. It is equal to that of `joined`. `died`: it, its machine, or the link to it.
        case left(RemoteParticipant, Departure)
    }
}

/// The retained value in which a relay shows the participants of other machines.
package struct RelayedPresence: Codable, Sendable {
    package struct Entry: Codable, Hashable, Sendable {
        package var incarnation: UInt64
        package var host: String
        package var center: String
        package var id: UInt64
        package var pid: Int32
        package var uid: UInt32
        package var role: String
        package var executable: String

        package init(
            incarnation: UInt64, host: String, center: String, id: UInt64, pid: Int32, uid: UInt32, role: String,
            executable: String
        ) {
            self.incarnation = incarnation
            self.host = host
            self.center = center
            self.id = id
            self.pid = pid
            self.uid = uid
            self.role = role
            self.executable = executable
        }

        var remote: SharedNotificationCenter.RemoteParticipant {
            .init(
                participant: .init(pid: pid, uid: uid, id: id, role: role, executable: executable), host: host,
                center: center, incarnation: incarnation)
        }
    }

    /// One that left lately.
    package struct Gone: Codable, Hashable, Sendable {
        package var incarnation: UInt64
        package var id: UInt64
        /// 0: closed, 1: died, 2: not known.
        package var how: UInt8

        package init(incarnation: UInt64, id: UInt64, how: UInt8) {
            self.incarnation = incarnation
            self.id = id
            self.how = how
        }
    }

    package var participants: [Entry]
    /// At most 256 of the latest ones.
    package var gone: [Gone]

    package init(participants: [Entry] = [], gone: [Gone] = []) {
        self.participants = participants
        self.gone = gone
    }

    package static let name = "tidings.relay.presence"
    /// How many a center shows.
    package static let most = 4096
}
