// Reading a center's state: its statistics, its participants and its observed names.
extension SharedNotificationCenter {
    /// Numbers about a center at one moment.
    ///
    /// ```swift
    /// let numbers = try SharedNotificationCenter.default.statistics
    /// print("\(numbers.posted) posted, \(numbers.memory) bytes")
    /// print("\(numbers.observers) of \(numbers.observerLimit) observers")
    /// ```
    public struct Statistics: Hashable, Sendable {
        /// Positions of the order that have been used since the center was created.
        public var posted: UInt64
        /// The sequence of the oldest notification still in the ring.
        public var oldestSequence: UInt64
        /// Posts that were revoked because their poster was stopped too long, and then posted again.
        public var revoked: UInt64
        /// Length of the file in bytes. The file is sparse.
        public var fileSize: UInt64
        /// Memory that the center takes, in bytes.
        public var memory: UInt64
        /// The largest payload, in bytes.
        public var maximumPayloadSize: UInt64
        /// Slots of the ring: one notification each.
        public var slots: Int
        /// Participants now, and their limit.
        public var participants: Int, participantLimit: Int
        /// Observer entries in use now, and their limit.
        public var observers: Int, observerLimit: Int
        /// Observers that sleep, and lossless observers.
        public var observersAsleep: Int, observersLossless: Int
        /// Names with observers or a retained value now, and their limit.
        public var names: Int, nameLimit: Int
        /// Chunks in use for payloads outside the ring now, and their limit.
        public var chunks: Int, chunkLimit: Int
        /// The version of the segment's format.
        public var formatVersion: Int
        /// Payloads that did not decode for an observer of this center object.
        public var undecodable: Int
        /// Notifications missed by observers of this center object.
        public var missed: Int
    }

    /// A process's opened center.
    ///
    /// ```swift
    /// for one in try SharedNotificationCenter.default.participants where one.isAlive {
    ///     print("\(one.executable) (\(one.pid)) since \(one.joinedAt), \(one.behind) behind")
    /// }
    /// ```
    public struct Participant: Hashable, Sendable {
        /// Its index in the center's table of participants.
        public var index: Int
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
    }

    /// A name that is observed or has a retained value; or a prefix of names that is observed.
    ///
    /// ```swift
    /// for one in try SharedNotificationCenter.default.observedNames { print(one.name, one.observers, one.isRetained) }
    /// ```
    public struct ObservedName: Hashable, Sendable {
        /// The name; `com.example.*` for all names that begin with `com.example.` (``isPrefix``).
        public var name: Name
        /// The subject that is observed; `nil`: notifications of all subjects, and without a subject.
        public var subject: String?
        /// How many observer entries observe it (one process usually has one).
        public var observers: Int
        /// Whether it has a retained value.
        public var isRetained: Bool
        /// Whether it is a prefix: observers receive all names that begin with the text before the final `*`.
        public var isPrefix: Bool
    }

    /// Numbers about the center now. Reading stops no participant, so the numbers fit together only approximately.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var statistics: Statistics {
        get throws(SharedNotificationError) {
            var statistics = try core.handle.statistics()
            (statistics.undecodable, statistics.missed) = core.diagnostics.counts
            return statistics
        }
    }

    /// All participants that have the center open now, and the dead ones that have not been reclaimed yet
    /// (``Participant/isAlive``).
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var participants: [Participant] {
        get throws(SharedNotificationError) { try core.handle.participants() }
    }

    /// All names that are observed or have a retained value now.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var observedNames: [ObservedName] {
        get throws(SharedNotificationError) { try core.handle.observedNames() }
    }
}

#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif
