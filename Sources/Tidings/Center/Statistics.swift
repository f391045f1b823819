extension SharedNotificationCenter {
    /// Numbers about a center at one moment.
    ///
    /// ```swift
    /// let numbers = try SharedNotificationCenter.default.statistics
    /// print("\(numbers.posted) posted, \(numbers.observers) of \(numbers.observerLimit) observers, \(numbers.memory) bytes")
    /// ```
    public struct Statistics: Hashable, Sendable {
        /// Positions in the order used since the center's birth.
        public var posted: UInt64
        /// The sequence of the oldest notification still in the ring.
        public var oldestSequence: UInt64
        /// Posts whose poster was stopped too long, and that were posted anew.
        public var revoked: UInt64
        /// Length of the file in bytes; it is sparse.
        public var fileSize: UInt64
        /// Bytes of memory taken.
        public var memory: UInt64
        /// The largest payload, in bytes.
        public var maximumPayloadSize: UInt64
        /// Notifications in the ring.
        public var slots: Int
        /// Participants now, and at most.
        public var participants: Int, participantLimit: Int
        /// Observer places taken now, and at most.
        public var observers: Int, observerLimit: Int
        /// Observers that sleep, and lossless ones.
        public var observersAsleep: Int, observersLossless: Int
        /// Names with observers or a retained value now, and at most.
        public var names: Int, nameLimit: Int
        /// Payloads that lie beside the ring now, and at most.
        public var chunks: Int, chunkLimit: Int
        /// The version of the segment's format.
        public var formatVersion: Int
        /// Payloads that did not decode for an observer of this center object.
        public var undecodable: Int
        /// Notifications missed by observers of this center object.
        public var missed: Int
    }

    /// Somebody who has the center open.
    ///
    /// ```swift
    /// for one in try SharedNotificationCenter.default.participants where one.isAlive {
    ///     print("\(one.executable) (\(one.pid)) since \(one.joinedAt), \(one.behind) behind")
    /// }
    /// ```
    public struct Participant: Hashable, Sendable {
        /// Its place in the center.
        public var index: Int
        /// Its process, in its own pid namespace.
        public var pid: Int32
        /// The user it runs as.
        public var uid: UInt32
        /// The name of its executable, at most 79 bytes.
        public var executable: String
        /// Whether it has not ended. True of all where that can't be asked: in a center that others may only read, by one of them.
        public var isAlive: Bool
        /// Whether it is this center object.
        public var isOwn: Bool
        /// When it opened the center.
        public var joinedAt: Date
        /// The observers' places it has taken: one for all ordinary observers of a center object, one for each lossless one and for each with a
        /// history.
        public var observers: Int
        /// How many of these are lossless.
        public var observersLossless: Int
        /// Of the lossless one that is furthest behind: how many notifications there are, of whatever name, from the first that it has still
        /// to take. When that is the whole ring (``Statistics/slots``), posters wait for it.
        public var behind: Int
    }

    /// A name that somebody observes, or that has a retained value; or what names that somebody observes begin with.
    ///
    /// ```swift
    /// for one in try SharedNotificationCenter.default.observedNames { print(one.name, one.observers, one.isRetained) }
    /// ```
    public struct ObservedName: Hashable, Sendable {
        /// The name; `com.example.*` for all names that begin with `com.example.` (``isPrefix``).
        public var name: Name
        /// The subject that is observed; `nil`: all, or none.
        public var subject: String?
        /// How many observer places look at it (one process usually has one).
        public var observers: Int
        /// Whether it has a retained value.
        public var isRetained: Bool
        /// Whether it isn't one name: what its text has before the `*` at its end is what the names that are observed begin with.
        public var isPrefix: Bool
    }

    /// Numbers about the center now. Read without stopping anybody, so they fit together only approximately.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, as it takes a place of its own.
    public var statistics: Statistics {
        get throws(SharedNotificationError) {
            var statistics = try core.handle.statistics()
            (statistics.undecodable, statistics.missed) = core.diagnostics.counts
            return statistics
        }
    }

    /// All who have the center open now; and who died, until somebody has tidied up (``Participant/isAlive``).
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, as it takes a place of its own.
    public var participants: [Participant] {
        get throws(SharedNotificationError) { try core.handle.participants() }
    }

    /// All names that are observed or retained now.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, as it takes a place of its own.
    public var observedNames: [ObservedName] {
        get throws(SharedNotificationError) { try core.handle.observedNames() }
    }
}

#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif
