/// The section of a relayed notification (TIDINGS_SECTION_ORIGIN), as it lies in memory. Docs/Design/Relay.md,
/// section 5, has the offsets, and `OriginTests` checks them. For TidingsRelay.
package struct OriginSection: BitwiseCopyable, Hashable, Sendable {
    /// The origin: the center in which the notification was first posted.
    package var incarnation: UInt64
    package var sequence: UInt64
    /// How many notifications of this name the origin has counted, this one included.
    package var count: UInt64
    /// Of the retained value or of the clear; 0: it is neither.
    package var date: UInt64 = 0
    /// How many of the origin's notifications of this name were lost on their way to this center, in all.
    package var lost: UInt64 = 0
    /// How many of these may not have been lost.
    package var lostUnsure: UInt64 = 0
    /// The position of this center at which the last loss became known.
    package var lostAt: UInt64 = 0
    /// Losses of counts below this are upper bounds.
    package var unsure: UInt64 = 0
    /// Of the first post, as are the process and the user: as the poster stated them.
    package var postedAtNanoseconds: UInt64
    package var pid: Int32
    package var uid: UInt32
    package var flags: Flags = []
    /// How many of `lost` are of the last loss; `UInt32.max`: this many or more.
    package var lastLoss: UInt32 = 0
    package var base: UInt64 = 0
    /// Of the version with `date`.
    package var versionSequence: UInt64 = 0

    package init(
        incarnation: UInt64, sequence: UInt64, count: UInt64, postedAtNanoseconds: UInt64, pid: Int32, uid: UInt32
    ) {
        self.incarnation = incarnation
        self.sequence = sequence
        self.count = count
        self.postedAtNanoseconds = postedAtNanoseconds
        self.pid = pid
        self.uid = uid
    }

    /// `nil`: the bytes are fewer than a section of this kind has. A later version may have more.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= MemoryLayout<OriginSection>.size else { return nil }
        self = bytes.loadUnaligned(as: OriginSection.self)
    }

    package struct Flags: OptionSet, BitwiseCopyable, Hashable, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// A comparison brought the value: `sequence` and `count` are those that its account has reached.
        package static let value = Flags(rawValue: 1)
        package static let cleared = Flags(rawValue: 2)
    }
}
