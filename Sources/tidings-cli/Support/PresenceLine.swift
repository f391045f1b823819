import Tidings

/// A change of presence as a line.
enum PresenceLine {
    private static func parts(_ change: Center.PresenceChange) -> (event: String, participant: Center.Participant) {
        switch change {
        case .joined(let participant): ("joined", participant)
        case .left(let participant, .closed): ("closed", participant)
        case .left(let participant, .died): ("died", participant)
        case .left(let participant, .unknown): ("left", participant)
        }
    }

    /// `joined 4711 (player): renderer 3`
    static func pretty(_ change: Center.PresenceChange) -> String {
        let (event, participant) = parts(change)
        let role = participant.role.isEmpty ? "" : ": \(participant.role.printable)"
        return "\(event) \(participant.pid) (\(participant.executable.printable))\(role)"
    }

    /// One JSON object on one line.
    static func json(_ change: Center.PresenceChange) -> String {
        let (event, participant) = parts(change)
        return """
            {"event":"\(event)","pid":\(participant.pid),"uid":\(participant.uid),"id":\(participant.id),\
            "role":\(participant.role.jsonString),"executable":\(participant.executable.jsonString)}
            """
    }

    private static func local(
        _ change: Center.RemotePresenceChange
    ) -> (change: Center.PresenceChange, one: Center.RemoteParticipant) {
        switch change {
        case .joined(let one): (.joined(one.participant), one)
        case .left(let one, let departure): (.left(one.participant, departure), one)
        }
    }

    /// `joined 4711 (player): renderer 3 on tokyo, center player`
    static func pretty(_ change: Center.RemotePresenceChange) -> String {
        let (change, one) = local(change)
        return "\(pretty(change)) on \(one.host.printable), center \(one.center.printable)"
    }

    static func json(_ change: Center.RemotePresenceChange) -> String {
        let (change, one) = local(change)
        return json(change).dropLast() + ",\"host\":\(one.host.jsonString),\"center\":\(one.center.jsonString)}"
    }
}
