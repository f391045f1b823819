// The relay's own bytes in its center: the section of a relayed notification. Other processes can write it, so each
// number is checked before it is used (invariant T1).

#if Relay
    internal import Tidings
    internal import TidingsLink

    /// The section of a relayed notification (Docs/Design/Relay.md, section 5).
    extension OriginSection {
        /// Numbers of peers are below this one.
        static let bound = UInt64(1) << 62

        init(_ post: Post) {
            let relayed = post.relayed
            self.init(
                incarnation: relayed.incarnation, sequence: relayed.sequence, count: relayed.count,
                postedAtNanoseconds: post.content.postedAt, pid: post.content.pid, uid: post.content.uid)
            date = relayed.version?.date ?? 0
            versionSequence = relayed.version?.sequence ?? 0
            lost = relayed.lost
            lastLoss = UInt32(clamping: relayed.lost - min(relayed.lost, relayed.lostBefore))
            lostUnsure = relayed.lostUnsure
            lostAt = relayed.lostAt
            unsure = relayed.unsure
            base = relayed.base
            if relayed.isValue { flags.insert(.value) }
            if post.isCleared { flags.insert(.cleared) }
        }

        /// `nil`: no relay wrote these numbers.
        var relayed: Relayed? {
            let all = sequence | count | date | lost | lostUnsure | lostAt | unsure | base | versionSequence
            guard all < Self.bound else { return nil }
            let version =
                date == 0
                ? nil
                : Version(
                    date: date, incarnation: incarnation, sequence: versionSequence,
                    isCleared: flags.contains(.cleared))
            return Relayed(
                incarnation: incarnation, sequence: sequence, count: count, base: base, unsure: unsure,
                version: version, lost: lost, lostUnsure: lostUnsure, lostAt: lostAt,
                lostBefore: lost - min(lost, UInt64(lastLoss)), isValue: flags.contains(.value))
        }
    }
#endif
