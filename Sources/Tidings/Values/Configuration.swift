extension SharedNotificationCenter {
    /// Sizes and access of a center. A property that is `nil` has its default.
    ///
    /// ```swift
    /// let group = SharedNotificationCenter.Configuration(slots: 65_536, permissions: 0o660)
    /// let center = try SharedNotificationCenter(named: "com.example.player", configuration: group)
    /// ```
    ///
    /// The process that creates the center decides its sizes. A value out of its range is refused when a center is
    /// opened with it: ``SharedNotificationError/Code-swift.struct/invalidArgument``.
    public struct Configuration: Hashable, Sendable {
        /// Whether opening may create a center, and whether it may open an existing one.
        ///
        /// ```swift
        /// // Only if the center exists: throws `.notFound` otherwise.
        /// let never = SharedNotificationCenter.Configuration(creation: .never)
        /// let center = try SharedNotificationCenter(named: "com.example.player", configuration: never)
        /// ```
        public enum Creation: Hashable, Sendable {
            /// Opens the center. Creates it first if there is none.
            case ifNeeded
            /// Opens an existing center only: ``SharedNotificationError/Code-swift.struct/notFound`` if there is none.
            case never
            /// Creates a new center only: ``SharedNotificationError/Code-swift.struct/exists`` if there is one.
            case exclusive
        }

        /// The directory of the centers. Default: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
        public var directory: String?
        /// The largest payload, in bytes, 1 to 1 GiB. Default: 16 MiB.
        public var maximumPayloadSize: Int?
        /// Notifications in the ring: a power of two, 256 to 1,048,576. Default: 4,096.
        public var slots: Int?
        /// Participants (opened centers; one process usually has one) at a time, 2 to 4,096. Default: 512.
        public var participants: Int?
        /// Observer entries at a time, 2 to 1,024. Default: 1,024.
        ///
        /// A center object takes one entry for all its ordinary observers, one for each lossless observer, and one for
        /// each observer that started with history.
        public var observers: Int?
        /// Names that are observed or have a retained value at a time, 64 to 1,048,576. Default: 131,072.
        public var names: Int?
        /// Permission bits of the center's file. Default: `0o600`, its owner only.
        ///
        /// Users with permission to read and write the file may post and observe (`0o660`: the group too). Users with
        /// permission to read only may observe, with ``isReadOnly`` (`0o644`: all users). A post then costs a system
        /// call, because readers cannot announce that they sleep.
        public var permissions: UInt32?
        /// The number of the group that a new center's file is given to. Default: this process's group.
        public var group: UInt32?
        /// The number of the user that owns the center. Default: this process's user. Another user's center is never
        /// created.
        public var owner: UInt32?
        /// Opens the center with read permission only: to observe, and to read state and statistics. Posting throws
        /// ``SharedNotificationError/Code/notPermitted``, and so does adding a lossless observer. Nothing that this
        /// process does can stop or damage other participants.
        public var isReadOnly: Bool
        /// Opens the center even in a directory where another user may rename files, and so replace the center.
        ///
        /// Such a directory is writable for its group or for every user without the sticky bit. A directory also counts
        /// if its user is not root, this process's user or ``owner``. If this is false, opening a center there throws
        /// ``SharedNotificationError/Code/notPermitted``. The directory's parents are not checked.
        public var allowsSharedDirectory: Bool
        /// Whether opening may create a center, or open an existing one. Default: ``Creation/ifNeeded``.
        public var creation: Creation
        /// Whether the center object and its observers go on in the next center of the name when this one ends.
        ///
        /// A center ends when it is removed, deleted or replaced. Default: false; posting and observing then throw
        /// ``SharedNotificationError/Code-swift.struct/removed``. `tail -F` follows a file's name in the same way.
        ///
        /// The next center is opened with this configuration, so it is created if ``creation`` allows that. Otherwise
        /// observers wait for it without using the processor, and posts throw `.removed` until it exists. Before the
        /// first notification from there, ``SharedNotificationCenter/onDiagnostic`` receives
        /// ``SharedNotificationCenter/Diagnostic/reopened(incarnation:)``, and a sequence of deliveries yields the new
        /// incarnation. Observers receive the retained values there, and miss nothing that is posted after that.
        /// Observers that started with history receive all notifications that are still in the ring. A
        /// ``SharedNotificationCenter/PollableObserver`` does not follow: it throws `.removed`.
        ///
        /// Each post looks its name up again, which costs about as much as a subject does.
        public var followsName: Bool

        /// A configuration with the given values, and defaults for all others. Opening a center checks them.
        public init(
            directory: String? = nil, maximumPayloadSize: Int? = nil, slots: Int? = nil, participants: Int? = nil,
            observers: Int? = nil, names: Int? = nil, permissions: UInt32? = nil, group: UInt32? = nil,
            owner: UInt32? = nil, isReadOnly: Bool = false, allowsSharedDirectory: Bool = false,
            creation: Creation = .ifNeeded, followsName: Bool = false
        ) {
            self.directory = directory
            self.maximumPayloadSize = maximumPayloadSize
            self.slots = slots
            self.participants = participants
            self.observers = observers
            self.names = names
            self.permissions = permissions
            self.group = group
            self.owner = owner
            self.isReadOnly = isReadOnly
            self.allowsSharedDirectory = allowsSharedDirectory
            self.creation = creation
            self.followsName = followsName
        }
    }
}
