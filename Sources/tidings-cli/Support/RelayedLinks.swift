import Tidings
import TidingsAdministration

/// What the center's relay has told of its links, and whether it still runs. Other processes can write this value, too.
struct RelayedLinks: Encodable {
    struct Link: Codable {
        var name: String
        var url: String
        var phase: String
        var problem: String?
        var peerHost: String?
        var peerCenter: String?
        var sent: UInt64
        var posted: UInt64
        var duplicates: UInt64
        var repaired: UInt64
        var refused: UInt64
        var lag: UInt64
        var unacknowledged: Int
        var holdsPosts: Bool?
        var calls: Int?
        var answering: Int?
        /// In seconds.
        var roundTrip: Double?
    }

    private struct State: Decodable {
        var pid: Int32
        var host: String
        var lost: UInt64
        var links: [Link]
    }

    var pid: Int32
    var isAlive: Bool
    var host: String
    var lost: UInt64
    var links: [Link]

    /// `nil`: no relay has told anything, or the value is not a relay's.
    init?(of center: Center) throws(SharedNotificationError) {
        guard let state = try? center.state(for: "tidings.relay.links", as: State.self) else { return nil }
        pid = state.pid
        host = state.host
        lost = state.lost
        links = state.links
        isAlive = try center.participants.contains {
            $0.pid == state.pid && $0.isAlive && $0.announced?.role == "relay"
        }
    }

    /// The first line, and one for each link.
    var lines: [String] {
        let end = isAlive ? "" : ", has ended: what follows is its last state"
        return ["pid \(pid) on \(host.printable), \(lost.grouped) lost on their way here\(end)"] + links.map(Self.line)
    }

    private static func line(_ link: Link) -> String {
        var line = "\(link.name.printable), \(link.url.printable): "
        if let center = link.peerCenter, let host = link.peerHost {
            line += "connected with center \(center.printable) on \(host.printable)"
        } else {
            line += link.problem.map(\.printable) ?? (link.phase == "connecting" ? "connecting" : "no peer yet")
        }
        line +=
            ", \(link.sent.grouped) sent, \(link.posted.grouped) posted here, \(link.repaired.grouped) repaired, "
            + "\(link.refused.grouped) refused, \(link.lag.grouped) behind, "
            + "\(link.unacknowledged.grouped) unacknowledged"
        if let calls = link.calls, let answering = link.answering {
            line += ", \(calls.grouped) requests there, \(answering.grouped) here"
        }
        if link.holdsPosts == false { line += ", posts do not wait for its lossless names" }
        if let seconds = link.roundTrip, let micros = Int(exactly: (seconds * 1e6).rounded()) {
            line += ", round trip \(micros.grouped) µs"
        }
        return line
    }

    /// What does not work.
    var findings: [String] {
        guard isAlive else {
            return [
                "its relay (process \(pid)) has ended without an end: nothing reaches other machines; start it again"
            ]
        }
        return links.filter { $0.phase != "connected" || $0.problem != nil }.map {
            "link \($0.name.printable) does not work: \($0.problem?.printable ?? "no relay has answered yet")"
        }
    }
}
