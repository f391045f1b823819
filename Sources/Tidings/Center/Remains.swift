extension SharedNotificationCenter {
    /// What participants that died, or stand still, have left in a center.
    ///
    /// It harms nobody: whom it concerns tidies it up in passing, and ``tidy()`` does it now. Numbers are approximate while
    /// others are at work.
    public struct Remains: Hashable, Sendable {
        /// Dead participants whose places nobody has taken yet.
        public var participants = 0
        /// Observers of theirs, and how many of these were lossless. They hold no post back.
        public var observers = 0, losslessObservers = 0
        /// Names that only the dead observe, or that they had half-way in or out of the table.
        public var names = 0
        /// Places for payloads that they had taken and not posted.
        public var payloads = 0
        /// Slots that an unfinished post of theirs holds. Observers wait 2 ms at each, once.
        public var claims = 0
        /// The oldest notifications were being counted out, and nobody has finished that.
        public var isEvictionUnfinished = false
        /// Posts that somebody was about to revoke, and didn't.
        public var unfinishedRevocations = 0
        /// Slots of posts that were revoked because their poster stood still. They are free as soon as it goes on, or ends:
        /// ``tidy()`` leaves them alone.
        public var heldSlots = 0
        /// Who holds one of these: its thread, or (from another pid namespace) its process.
        public var slotHolder: Int32?

        /// There is nothing.
        public var isEmpty: Bool { self == Remains() }

        /// Nothing is left.
        public init() {}
    }

    /// A file that nobody needs any more.
    public struct Leftover: Hashable, Sendable {
        /// How it came to be left.
        public enum Kind: Sendable {
            /// A creator was killed before its center was finished.
            case unfinishedCenter
            /// The second file of a center that some may only read. The center is gone, or was never finished.
            case companion
            /// A center whose remover was killed. Who opens the name finishes that.
            case halfRemovedCenter
        }
        /// Its name in the directory.
        public var file: String
        /// What it is.
        public var kind: Kind
        /// Bytes of memory that it takes, or took.
        public var memory: UInt64
        /// It is gone now.
        public var isDeleted: Bool
    }

    /// What the dead have left in this center.
    public var remains: Remains {
        get throws(SharedNotificationError) { try core.handle.remains() }
    }

    /// The files that creators and removers of this user's centers left when they were killed.
    ///
    /// What somebody is just at work on is not among them.
    ///
    /// - Parameter directory: where centers live; `nil`: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
    public static func leftovers(in directory: String? = nil) throws(SharedNotificationError) -> [Leftover] {
        try CenterHandle.leftovers(in: directory, deletes: false)
    }

    /// Deletes them.
    ///
    /// - Returns: what was found; see ``Leftover/isDeleted``.
    @discardableResult
    public static func deleteLeftovers(in directory: String? = nil) throws(SharedNotificationError) -> [Leftover] {
        try CenterHandle.leftovers(in: directory, deletes: true)
    }
}
