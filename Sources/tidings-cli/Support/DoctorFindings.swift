import Tidings
import TidingsAdministration

/// Describes the stale items of a center in a line each: the item, its cause, and its fate.
enum DoctorFindings {
    struct Finding {
        var text: String
        /// A live process holds the item. Only that process can release it, by going on or by ending.
        var isForItsHolder = false
    }

    static func lines(_ orphans: Center.Orphans, dead: [Center.ParticipantStatistics]) -> [Finding] {
        var lines: [String] = []
        if orphans.participants > 0 {
            let first = dead.prefix(4).map {
                "\($0.executable.isEmpty ? "process" : $0.executable.printable) \($0.pid)"
            }
            let names =
                first.isEmpty ? "" : " (\(first.joined(separator: ", "))\(dead.count > first.count ? ", …" : ""))"
            lines.append(
                """
                \(counted(orphans.participants, "dead participant"))\(names): ended without closing the center; a new \
                participant reuses the entry
                """)
        }
        if orphans.observers > 0 {
            let lossless = orphans.losslessObservers > 0 ? ", \(orphans.losslessObservers.grouped) lossless" : ""
            lines.append(
                """
                \(counted(orphans.observers, "observer")) of dead participants\(lossless): no post waits for them
                """)
        }
        if orphans.names > 0 {
            lines.append(
                """
                \(counted(orphans.names, "name")) that only dead participants observed, added or removed: no observer \
                receives posts under such a name
                """)
        }
        if orphans.payloads > 0 {
            lines.append(
                """
                \(counted(orphans.payloads, "chunk")) for large payloads that dead participants had taken and not \
                posted: posters have fewer chunks until they are reclaimed
                """)
        }
        if orphans.claims > 0 {
            lines.append(
                """
                \(counted(orphans.claims, "slot")) of posts that dead participants had not finished: such a post is \
                not delivered; an observer waits 2 ms for it, once
                """)
        }
        if orphans.isEvictionUnfinished {
            lines.append(
                """
                the eviction of the oldest notifications is unfinished: the evicting process was killed; the next post \
                that needs room finishes it
                """)
        }
        if orphans.unfinishedRevocations > 0 {
            lines.append(
                """
                \(counted(orphans.unfinishedRevocations, "unfinished revocation")) of a post: the revoking process was \
                killed; the next process that reads the slot finishes it
                """)
        }
        var findings = lines.map { Finding(text: $0) }
        if orphans.heldSlots > 0 {
            let holder = orphans.slotHolder.map { ", one by process or thread \($0)" } ?? ""
            findings.append(
                Finding(
                    text: """
                        \(counted(orphans.heldSlots, "slot")) held by a poster that stood still in the middle of a \
                        post\(holder): the post was revoked, and other posters skip the slot; it becomes free when \
                        that poster goes on (kill -CONT) or ends
                        """,
                    isForItsHolder: true))
        }
        return findings
    }
}
