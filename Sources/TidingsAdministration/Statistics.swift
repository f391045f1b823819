// Numbers about a center.
internal import CTidings
public import Tidings

extension SharedNotificationCenter {
    /// Numbers about a center at one moment.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
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
        /// The version of the center's format, as "1.0": that of the process that created it.
        public var formatVersion: String
        /// Payloads that did not decode for an observer of this center object.
        public var undecodable: Int
        /// Notifications missed by observers of this center object.
        public var missed: Int
    }

    /// Numbers about the center now. Reading stops no participant, so the numbers fit together only approximately.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var statistics: Statistics {
        get throws(SharedNotificationError) {
            Statistics(try withCenter(tidings_statistics.init(of:)), diagnosticCounts)
        }
    }
}

extension SharedNotificationCenter {
    /// How many names have a retained value now. Approximate while other processes post. For TidingsService.
    package var retainedValueCount: Int {
        get throws(SharedNotificationError) {
            try withCenter { center throws(SharedNotificationError) in
                var (values, limit): (UInt32, UInt32) = (0, 0)
                let result = tidings_values(center, &values, &limit)
                guard result == 0 else { throw SharedNotificationError(errno: -result) }
                return Int(values)
            }
        }
    }
}

extension SharedNotificationCenter.Statistics {
    fileprivate init(_ raw: tidings_statistics, _ counts: (undecodable: Int, missed: Int)) {
        #if MUTANT_REVOKED_CONVERTED  // Found by: fuzz swift
            if isMutant("REVOKED_CONVERTED") { _ = Int(raw.revoked) }
        #endif
        self.init(
            posted: raw.posted, oldestSequence: raw.retained_from, revoked: raw.revoked, fileSize: raw.file_size,
            memory: raw.memory, maximumPayloadSize: raw.maximum_payload, slots: Int(raw.slots),
            participants: Int(raw.participants), participantLimit: Int(raw.participants_max),
            observers: Int(raw.observers), observerLimit: Int(raw.observers_max),
            observersAsleep: Int(raw.observers_asleep), observersLossless: Int(raw.observers_lossless),
            names: Int(raw.names), nameLimit: Int(raw.names_max), chunks: Int(raw.chunks_used),
            chunkLimit: Int(raw.chunks_max),
            formatVersion: "\(raw.format_version >> 16).\(raw.format_version & 0xffff)",
            undecodable: counts.undecodable, missed: counts.missed)
    }
}

extension tidings_statistics {
    /// The numbers of an open center; their limits bound the loops over its tables.
    init(of center: OpaquePointer) throws(SharedNotificationError) {
        self.init()
        let result = tidings_statistics_get(center, &self)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
    }
}
