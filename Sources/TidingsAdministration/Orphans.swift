// The orphans in a center: what dead and stopped participants have left there.
internal import CTidings
public import Tidings

extension SharedNotificationCenter {
    /// The orphans in a center: what participants that died or stand still have left there.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// let center = try SharedNotificationCenter.default
    /// let orphans = try center.orphans
    /// if !orphans.isEmpty { print("of \(orphans.participants) dead participants, \(try center.reclaim()) reclaimed") }
    /// ```
    ///
    /// Orphans do no damage. A participant reclaims those that are in its way, and ``reclaim()`` reclaims them now. The
    /// numbers are approximate while other participants are at work.
    public struct Orphans: Hashable, Sendable {
        /// Dead participants whose entries have not been reused yet.
        public var participants = 0
        /// Observer entries of dead participants, and how many of these are lossless. They hold no post back.
        public var observers = 0, losslessObservers = 0
        /// Names that only dead participants observe, or that a dead participant was adding or removing.
        public var names = 0
        /// Chunks that dead participants had taken and not posted.
        public var payloads = 0
        /// Slots that an unfinished post of a dead participant holds. An observer waits 2 ms at each, once.
        public var claims = 0
        /// Whether an eviction of the oldest notifications was begun and no participant has finished it.
        public var isEvictionUnfinished = false
        /// Revocations that a participant began and did not finish.
        public var unfinishedRevocations = 0
        /// Slots of posts that were revoked because their poster stood still. They become free when that poster goes on
        /// or ends; ``reclaim()`` does not free them.
        public var heldSlots = 0
        /// The holder of one of these slots: its thread id, or (from another pid namespace) its process id.
        public var slotHolder: Int32?

        /// Whether there are no orphans.
        public var isEmpty: Bool { self == Orphans() }
    }

    /// The orphans in this center now. If some state is half-way, this takes 10 ms, to check that no participant is
    /// changing it.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var orphans: Orphans {
        get throws(SharedNotificationError) {
            try withCenter { center throws(SharedNotificationError) in
                var raw = tidings_orphans()
                let result = tidings_orphans_get(center, &raw)
                guard result == 0 else { throw SharedNotificationError(errno: -result) }
                return Orphans(raw)
            }
        }
    }

    /// Reclaims the orphans of dead participants now.
    ///
    /// Participants also do this themselves when orphans are in their way. Other processes are not disturbed.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// let center = try SharedNotificationCenter.default
    /// if try center.reclaim() > 0 { print(try center.orphans) }
    /// ```
    ///
    /// - Returns: how many dead participants were reclaimed.
    /// - Throws: ``SharedNotificationError``: `.notPermitted` if the center was opened for reading alone.
    @discardableResult
    public func reclaim() throws(SharedNotificationError) -> Int {
        try withCenter { center throws(SharedNotificationError) in
            let result = tidings_reclaim(center)
            guard result >= 0 else { throw SharedNotificationError(errno: -result) }
            return Int(result)
        }
    }
}

extension SharedNotificationCenter.Orphans {
    fileprivate init(_ raw: tidings_orphans) {
        self.init(
            participants: Int(raw.participants), observers: Int(raw.observers),
            losslessObservers: Int(raw.observers_lossless), names: Int(raw.names), payloads: Int(raw.payloads),
            claims: Int(raw.claims), isEvictionUnfinished: raw.evictions != 0,
            unfinishedRevocations: Int(raw.verdicts), heldSlots: Int(raw.slots_held),
            slotHolder: raw.slots_held > 0 ? raw.holder : nil)
    }
}
