import Tidings
import TidingsAdministration

/// Describes the stale items of a center in a line each: the item, its cause, and its fate.
enum DoctorFindings {
    struct Finding {
        var text: String
        /// A live process holds the item. Only that process can release it, by going on or by ending.
        var isForItsHolder = false
    }

    static func lines(_ orphans: Center.Orphans, dead: [Center.Participant]) -> [Finding] {
        var lines: [String] = []
        if orphans.participants > 0 {
            let who = dead.prefix(4).map { "\($0.executable.isEmpty ? "process" : $0.executable.printable) \($0.pid)" }
            let names = who.isEmpty ? "" : " (\(who.joined(separator: ", "))\(dead.count > who.count ? ", …" : ""))"
            lines.append(
                "\(counted(orphans.participants, "dead participant"))\(names): ended without closing the center; the next who needs the place takes it"
            )
        }
        if orphans.observers > 0 {
            let lossless = orphans.losslessObservers > 0 ? ", \(orphans.losslessObservers.grouped) lossless" : ""
            lines.append(
                "\(counted(orphans.observers, "observer")) of the dead\(lossless): nobody reads there any more; posts are not held back"
            )
        }
        if orphans.names > 0 {
            lines.append(
                "\(counted(orphans.names, "name")) that only the dead observed, or were adding or taking out: posts there address nobody"
            )
        }
        if orphans.payloads > 0 {
            lines.append(
                "\(counted(orphans.payloads, "place")) for large payloads that the dead had taken and not posted: until tidied up others have fewer"
            )
        }
        if orphans.claims > 0 {
            lines.append(
                "\(counted(orphans.claims, "slot")) of posts that the dead had not finished: delivered to nobody; an observer waits 2 ms there, once"
            )
        }
        if orphans.isEvictionUnfinished {
            lines.append(
                "the oldest notifications are half counted out: who did it was killed; the next post that needs room finishes it"
            )
        }
        if orphans.unfinishedRevocations > 0 {
            lines.append(
                "\(counted(orphans.unfinishedRevocations, "post")) that somebody was about to revoke: killed before saying so; the next to look finishes it"
            )
        }
        var findings = lines.map { Finding(text: $0) }
        if orphans.heldSlots > 0 {
            let holder = orphans.slotHolder.map { ", one by process or thread \($0)" } ?? ""
            findings.append(
                Finding(
                    text:
                        "\(counted(orphans.heldSlots, "slot")) held by who stood still in the middle of a post\(holder): the post was revoked, others pass the slot over; it is free when that one goes on (kill -CONT) or ends",
                    isForItsHolder: true))
        }
        return findings
    }
}
