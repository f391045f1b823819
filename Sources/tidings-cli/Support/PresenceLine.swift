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
}
