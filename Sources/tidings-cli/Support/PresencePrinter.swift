import Tidings

/// Prints changes of presence, and ends the command at the limit.
final class PresencePrinter: Sendable {
    private let format: Observe.Format
    private let finish: Finish
    private let left: Locked<Int?>

    init(format: Observe.Format, limit: Int?, finish: Finish) {
        self.format = format
        self.finish = finish
        left = Locked(limit)
    }

    func handle(_ change: Center.PresenceChange) {
        guard !finish.hasEnded else { return }
        do {
            try Terminal.print(format == .json ? Self.json(change) : Self.pretty(change))
        } catch is BrokenPipe {
            return finish.end(.brokenPipe)
        } catch {
            return finish.end(.failed("\(error)"))
        }
        let isLast = left.withLock { left in
            guard let count = left else { return false }
            left = count - 1
            return count == 1
        }
        if isLast { finish.end(.complete) }
    }

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
