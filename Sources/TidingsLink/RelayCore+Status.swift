// What a driver reports of a relay.

extension RelayCore {
    /// How many notifications of other centers were lost on their way here, in all accounts.
    package var lostInAll: UInt64 {
        origins.dropFirst().reduce(0) { $1.accounts.values.reduce($0) { $0.adding($1.lost) } }
    }

    /// Whether notifications of the peer are posted: the first comparison has ended.
    package func isReceiving(onLink link: Int) -> Bool {
        links[link].isEstablished && links[link].received != Beat.end
    }

    /// Positions that were not looked at for this link, and items that were sent and that the peer has not handled. 0:
    /// the link has no peer.
    package func waiting(ofLink link: Int) -> (lag: UInt64, unacknowledged: Int) {
        guard links[link].isEstablished, links[link].peerRound != 0 else { return (0, 0) }
        return (cursor.reduced(by: links[link].scanned), links[link].unhandled.count)
    }
}
