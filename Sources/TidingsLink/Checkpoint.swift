// What a relay stores in its center. After its death, the next one begins with it, and reads the ring from there on.

/// The relay's accounts at a position. The ring after that position is the log: each relayed notification carries its
/// mark (invariant C1).
package struct Checkpoint: Hashable, Sendable {
    package struct OriginAccounts: Hashable, Sendable {
        package var origin: Origin
        package var accounts: [LinkName: Account]

        package init(origin: Origin, accounts: [LinkName: Account]) {
            self.origin = origin
            self.accounts = accounts
        }
    }

    package struct Value: Hashable, Sendable {
        package var version: Version
        package var position: UInt64
        package var origin: Origin

        package init(version: Version, position: UInt64, origin: Origin) {
            self.version = version
            self.position = position
            self.origin = origin
        }
    }

    /// Where a link goes on in its peer's ring.
    package struct LinkPlace: Hashable, Sendable {
        package var link: String
        package var incarnation: UInt64
        package var place: UInt64

        package init(link: String, incarnation: UInt64, place: UInt64) {
            self.link = link
            self.incarnation = incarnation
            self.place = place
        }
    }

    /// Where the next relay begins to read.
    package var position: UInt64
    /// The first is the center's own.
    package var origins: [OriginAccounts]
    package var values: [LinkName: Value]
    package var places: [LinkPlace]
    /// The links whose first comparison after an uncertain start has not ended (invariant C3).
    package var uncertain: [String]
    /// The count with which accounts of new names begin.
    package var ownBase: UInt64

    package init(
        position: UInt64, origins: [OriginAccounts], values: [LinkName: Value], places: [LinkPlace],
        uncertain: [String], ownBase: UInt64
    ) {
        self.position = position
        self.origins = origins
        self.values = values
        self.places = places
        self.uncertain = uncertain
        self.ownBase = ownBase
    }
}
