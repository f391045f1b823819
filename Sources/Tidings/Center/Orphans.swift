extension SharedNotificationCenter {
    /// What participants that died, or stand still, have left in a center.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let orphans = try center.orphans
    /// if !orphans.isEmpty { print("of \(orphans.participants) dead participants, \(try center.reclaim()) tidied up") }
    /// ```
    ///
    /// It harms nobody: whom it concerns tidies it up in passing, and ``reclaim()`` does it now. Numbers are approximate while
    /// others are at work.
    public struct Orphans: Hashable, Sendable {
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
        /// Slots of posts that were revoked because their poster stood still. They are free as soon as it goes on, or ends;
        /// ``reclaim()`` leaves them alone.
        public var heldSlots = 0
        /// Who holds one of these: its thread, or (from another pid namespace) its process.
        public var slotHolder: Int32?

        /// Whether there is nothing.
        public var isEmpty: Bool { self == Orphans() }

        /// No remains at all, to compare with.
        public init() {}
    }

    /// A file that nobody needs any more: of a creator or remover of a center that was killed.
    ///
    /// ```swift
    /// for staleFile in try SharedNotificationCenter.staleFiles() { print(staleFile.file, staleFile.kind, staleFile.memory) }
    /// ```
    public struct StaleFile: Hashable, Sendable {
        /// How it came to be left; see ``SharedNotificationCenter/staleFiles(in:)``.
        public enum Kind: Sendable {
            /// A creator was killed before its center was finished.
            case unfinishedCenter
            /// The second file of a center that some may only read. The center is gone, or was never finished.
            case writersFile
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

    /// What the dead have left in this center now. Takes 10 ms where something stands half-way, to see that nobody is at work on it.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, as it takes a place of its own.
    public var orphans: Orphans {
        get throws(SharedNotificationError) { try core.handle.orphans() }
    }

    /// The files that creators and removers of this user's centers left when they were killed.
    ///
    /// ```swift
    /// let memory = try SharedNotificationCenter.staleFiles().reduce(0) { $0 + $1.memory }
    /// print("\(memory) bytes could be given back")
    /// ```
    ///
    /// What somebody is just at work on is not among them.
    ///
    /// - Parameter directory: where centers live; `nil`: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
    /// - Throws: ``SharedNotificationError``: `.notFound` or `.notPermitted` if the directory can't be read.
    public static func staleFiles(in directory: String? = nil) throws(SharedNotificationError) -> [StaleFile] {
        try CenterHandle.staleFiles(in: directory, deletes: false)
    }

    /// Deletes the files that creators and removers of this user's centers left when they were killed.
    ///
    /// ```swift
    /// for staleFile in try SharedNotificationCenter.deleteStaleFiles() where !staleFile.isDeleted { print("\(staleFile.file) is still there") }
    /// ```
    ///
    /// Promise: what somebody is just at work on, what a center needs, and what is no center's stays.
    ///
    /// - Parameter directory: as in ``staleFiles(in:)``.
    /// - Returns: what was found; see ``StaleFile/isDeleted``.
    /// - Throws: ``SharedNotificationError``: `.notFound` or `.notPermitted` if the directory can't be read.
    @discardableResult
    public static func deleteStaleFiles(in directory: String? = nil) throws(SharedNotificationError) -> [StaleFile] {
        try CenterHandle.staleFiles(in: directory, deletes: true)
    }
}
