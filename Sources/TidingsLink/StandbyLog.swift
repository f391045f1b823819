// What a relay that stands by keeps of its center's ring. Docs/Design/Relay.md, invariant C4.

/// The marks of what was posted since the center's relay stored its state, without bytes. When that relay ends, the
/// next one replays these, also those that have left the ring.
package struct StandbyLog: Sendable {
    /// Everything from here on, up to `end`, was read.
    package private(set) var begin: UInt64
    /// The position that is read next.
    package private(set) var end: UInt64
    private var records: [RingRecord] = []
    private let limit: UInt64

    /// - Parameters:
    ///   - position: the one that is read first.
    ///   - limit: how many positions are kept at most. A relay stores its state several times in each round of its
    ///     ring, but not while it is stopped.
    package init(at position: UInt64, limit: UInt64) {
        (begin, end) = (position, position)
        self.limit = limit
    }

    /// - Parameter record: its name has the number that the reader gave it.
    package mutating func read(_ record: RingRecord) {
        guard record.position >= end else { return }
        records.append(record)
        readThrough(record.position + 1)
    }

    /// Everything before this position was read, or is for no link.
    package mutating func readThrough(_ position: UInt64) {
        end = max(end, position)
        if end - begin > limit { forget(before: end - limit / 2) }
    }

    /// The ring went round before everything up to this position was read.
    package mutating func lapped(before position: UInt64) {
        end = max(end, position)
        #if !MUTANT_STANDBY_LAPPED_UNSEEN  // Found by: link --standbys 239
            records = []
            begin = end
        #endif
    }

    /// The state that the relay has stored has everything before this position.
    package mutating func forget(before position: UInt64) {
        guard position > begin else { return }
        begin = min(position, end)
        #if MUTANT_STANDBY_FORGETS_ONE_MORE  // Found by: link --standbys 15
            records.removeFirst(min(records.count, records.prefix { $0.position < begin }.count + 1))
        #else
            records.removeFirst(records.prefix { $0.position < begin }.count)
        #endif
    }

    /// What lies before this position, oldest first.
    ///
    /// - Parameter number: the number that the relay which replays them gives a name of this number; `nil`: none.
    package func records(before position: UInt64, number: (Int) -> Int?) -> [RingRecord] {
        records.prefix { $0.position < position }.compactMap { record in
            guard let name = number(record.name) else { return nil }
            var record = record
            #if !MUTANT_STANDBY_NUMBERS_NAMES  // Found by: link --standbys 15
                record.name = name
            #endif
            return record
        }
    }
}
