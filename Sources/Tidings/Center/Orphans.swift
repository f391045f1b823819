// What dead participants left behind: their orphans in a center, and stale files.
extension SharedNotificationCenter {
    /// The orphans in a center: what participants that died or stand still have left there.
    ///
    /// ```swift
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

        /// No orphans, for comparison.
        public init() {}
    }

    /// A file that is not needed any more, left by a killed creator or remover of a center.
    ///
    /// ```swift
    /// for staleFile in try SharedNotificationCenter.staleFiles() {
    ///     print(staleFile.file, staleFile.kind, staleFile.memory)
    /// }
    /// ```
    public struct StaleFile: Hashable, Sendable {
        /// The reason why a file is stale; see ``SharedNotificationCenter/staleFiles(in:)``.
        public enum Kind: Sendable {
            /// A creator was killed before its center was finished.
            case unfinishedCenter
            /// The writers file (second file) of a center that some users may only read. The center is gone, or was
            /// never finished.
            case writersFile
            /// A center whose remover was killed. The next process that opens the name completes the removal.
            case halfRemovedCenter
        }
        /// The file's name in the directory.
        public var file: String
        /// The reason why it is stale.
        public var kind: Kind
        /// Memory that the file takes, or took, in bytes.
        public var memory: UInt64
        /// Whether the file has been deleted.
        public var isDeleted: Bool
    }

    /// The orphans in this center now. If some state is half-way, this takes 10 ms, to check that no participant is
    /// changing it.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var orphans: Orphans {
        get throws(SharedNotificationError) { try core.handle.orphans() }
    }

    /// The stale files of this user's centers: what killed creators and removers left.
    ///
    /// ```swift
    /// let memory = try SharedNotificationCenter.staleFiles().reduce(0) { $0 + $1.memory }
    /// print("\(memory) bytes could be given back")
    /// ```
    ///
    /// Files that a process is still working on are not included.
    ///
    /// - Parameter directory: the directory of the centers; `nil`: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
    /// - Throws: ``SharedNotificationError``: `.notFound` or `.notPermitted` if the directory can't be read.
    public static func staleFiles(in directory: String? = nil) throws(SharedNotificationError) -> [StaleFile] {
        try CenterHandle.staleFiles(in: directory, deletes: false)
    }

    /// Deletes the stale files of this user's centers: what killed creators and removers left.
    ///
    /// ```swift
    /// for staleFile in try SharedNotificationCenter.deleteStaleFiles() where !staleFile.isDeleted {
    ///     print("\(staleFile.file) is still there")
    /// }
    /// ```
    ///
    /// Promise: a file stays if a process is still working on it, if a center needs it, or if it does not belong to a
    /// center.
    ///
    /// - Parameter directory: as in ``staleFiles(in:)``.
    /// - Returns: the files that were found; see ``StaleFile/isDeleted``.
    /// - Throws: ``SharedNotificationError``: `.notFound` or `.notPermitted` if the directory can't be read.
    @discardableResult
    public static func deleteStaleFiles(in directory: String? = nil) throws(SharedNotificationError) -> [StaleFile] {
        try CenterHandle.staleFiles(in: directory, deletes: true)
    }
}
