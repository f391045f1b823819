// The participants of a center.
internal import CTidings
public import Tidings

#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

extension SharedNotificationCenter {
    /// Numbers about a process's opened center.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// for one in try SharedNotificationCenter.default.participants where one.isAlive {
    ///     print("\(one.executable) (\(one.pid)) since \(one.joinedAt), \(one.behind) behind")
    /// }
    /// ```
    public struct ParticipantStatistics: Hashable, Sendable {
        /// The id of its process, in the pid namespace of that process.
        public var pid: Int32
        /// The user it runs as.
        public var uid: UInt32
        /// The name of its executable, at most 79 bytes.
        public var executable: String
        /// Whether it has not ended. Always true if this process may only read the center, because it can't check that.
        public var isAlive: Bool
        /// Whether it is this center object.
        public var isOwn: Bool
        /// When it opened the center.
        public var joinedAt: Date
        /// Observer entries that it has taken.
        ///
        /// A center object takes one for all its ordinary observers, one for each lossless observer, and one for each
        /// observer that started with history.
        public var observers: Int
        /// How many of these entries are lossless.
        public var observersLossless: Int
        /// How far its slowest lossless observer is behind: the number of posts, of all names, from that observer's
        /// next notification on. When that is the whole ring (``Statistics/slots``), posts wait for it.
        public var behind: Int
        /// How far that one of its observers is behind that is furthest behind, lossless or not; `nil`: none of them
        /// says it. Those of a process that was built with version 1.0 of the center's format do not.
        ///
        /// While an observer is awake, the number may be up to 64 too large.
        public var distance: Int?
        /// How many notifications its observers have reported as missed, modulo 2³¹. Less, when one of them ends.
        public var missed: UInt32
        /// How many payloads it holds in place (``ObserverOptions/inPlace``). Approximate while it takes and releases
        /// some.
        public var payloadsHeld: Int
        /// Bytes of the center's memory that no post can use meanwhile.
        public var memoryHeld: UInt64
        /// When it began to hold the oldest of them; `nil`: it holds none.
        public var holdsSince: Date?
        /// What it has announced (`announce(role:will:timeout:)`); `nil`: it is not announced.
        public var announced: Participant?
    }

    /// All participants that have the center open now, and the dead ones that have not been reclaimed yet
    /// (``ParticipantStatistics/isAlive``).
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var participants: [ParticipantStatistics] {
        get throws(SharedNotificationError) {
            try withCenter { center throws(SharedNotificationError) in
                (0..<(try tidings_statistics(of: center).participants_max)).compactMap {
                    ParticipantStatistics(at: $0, of: center)
                }
            }
        }
    }
}

extension SharedNotificationCenter.ParticipantStatistics {
    /// `nil`: the entry has no participant.
    fileprivate init?(at index: UInt32, of center: OpaquePointer) {
        var info = tidings_participant_info()
        guard tidings_participant(center, index, &info) == 0 else { return nil }
        var own = tidings_participant_observers()
        tidings_participant_observers_get(center, index, &own)
        var holds = tidings_participant_holds()
        tidings_participant_holds_get(center, index, &holds)
        #if MUTANT_JOINED_CONVERTED  // Found by: fuzz swift
            if isMutant("JOINED_CONVERTED") { _ = Int64(info.joined_at_ns) }
        #endif
        let executable = String(untilNUL: &info.executable)
        let announced = SharedNotificationCenter.Participant(
            pid: info.pid, uid: info.uid, id: info.presence_id, role: String(untilNUL: &info.role),
            executable: executable)
        self.init(
            pid: info.pid, uid: info.uid, executable: executable, isAlive: info.alive,
            isOwn: info.own, joinedAt: Date(timeIntervalSince1970: Double(info.joined_at_ns) / 1e9),
            observers: Int(own.observers), observersLossless: Int(own.lossless), behind: Int(clamping: own.behind),
            distance: own.known == 0 ? nil : Int(clamping: own.distance), missed: own.missed,
            payloadsHeld: Int(holds.payloads), memoryHeld: holds.memory,
            holdsSince: holds.payloads == 0 ? nil : Date(timeIntervalSince1970: Double(holds.since_ns) / 1e9),
            announced: info.announced ? announced : nil)
    }
}
