extension SharedNotificationCenter {
    /// Sizes and access of a center. What is `nil` takes the default.
    ///
    /// ```swift
    /// let group = SharedNotificationCenter.Configuration(slots: 65_536, permissions: 0o660)
    /// let center = try SharedNotificationCenter(named: "com.example.player", configuration: group)
    /// ```
    ///
    /// Sizes are decided by whoever creates the center. What is out of its range is refused when a center is opened with it:
    /// ``SharedNotificationError/Code-swift.enum/invalidArgument``.
    public struct Configuration: Hashable, Sendable {
        /// Whether opening may create a center, and whether it may find one.
        ///
        /// ```swift
        /// // Only if somebody has created it: throws `.notFound` otherwise.
        /// let center = try SharedNotificationCenter(named: "com.example.player", configuration: .init(creation: .never))
        /// ```
        public enum Creation: Hashable, Sendable {
            /// Open it, creating it first if there is none.
            case ifNeeded
            /// Open it only: ``SharedNotificationError/Code-swift.enum/notFound`` if there is none.
            case never
            /// Create it only: ``SharedNotificationError/Code-swift.enum/exists`` if there is one.
            case exclusive
        }

        /// Where centers live. Default: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
        public var directory: String?
        /// The largest payload, in bytes, 1 to 1 GiB. Default: 16 MiB.
        public var maximumPayloadSize: Int?
        /// Notifications in the ring: a power of two, 256 to 1,048,576. Default: 4,096.
        public var slots: Int?
        /// Opened centers at a time (one process usually has one), 2 to 4,096. Default: 512.
        public var participants: Int?
        /// Places for observers at a time, 2 to 1,024. Default: 1,024.
        ///
        /// A center object takes one for all its ordinary observers, and one for each lossless one and each that started with
        /// history.
        public var observers: Int?
        /// Different observed names, 64 to 1,048,576. Default: 131,072.
        public var names: Int?
        /// Permission bits of the center's file. Default: `0o600`, its owner only.
        ///
        /// Whom they let read and write, may post and observe (`0o660`: the group too). Whom they let read and not write, may
        /// observe, by ``isReadOnly`` (`0o644`: everyone); a post then costs a system call, as such observers have no way to
        /// say that they sleep.
        public var permissions: UInt32?
        /// The group that a new center's file is given to, by number. Default: this process's.
        public var group: UInt32?
        /// The user whose center it is, by number. Default: this process's. A center of another user is never created.
        public var owner: UInt32?
        /// Opens it with no more than permission to read: to observe, and to read state and statistics. Posting throws
        /// ``SharedNotificationError/Code/notPermitted``, and so does a lossless observer. Nothing that this process does can
        /// stop or harm others.
        public var isReadOnly: Bool
        /// Opens it also in a directory where another user may rename files, and so put another center in its place.
        ///
        /// Such is a directory that its group or every user may write to without the sticky bit, and one that belongs to a
        /// user other than root, this process's and ``owner``. Without this, opening a center there throws
        /// ``SharedNotificationError/Code/notPermitted``. The directory's parents are not looked at.
        public var allowsSharedDirectory: Bool
        /// Whether a center is created, and whether there may be one. Default: ``Creation/ifNeeded``.
        public var creation: Creation
        /// Whether the center object and its observers go on in the next center of the name when this one ends (it is removed, deleted or
        /// replaced), as `tail -F` does with files. Default: no; posting and observing throw ``SharedNotificationError/Code-swift.enum/removed`` then.
        ///
        /// The next center is opened with this configuration, so it is created if ``creation`` says so; otherwise observers wait for
        /// it, without using the processor, and posts throw `.removed` until it is there. ``SharedNotificationCenter/onDiagnostic`` is told
        /// ``SharedNotificationCenter/Diagnostic/reopened(incarnation:)``, and a sequence of deliveries yields its new incarnation, before the first
        /// notification from there. Observers receive retained values there, and miss nothing posted after that; those that started with
        /// history receive all that is still there. A ``SharedNotificationCenter/PollableObserver`` does not follow: it throws `.removed`.
        ///
        /// Each post looks its name up again, which costs about as much as a subject does.
        public var followsName: Bool

        /// A configuration with what is given, and defaults for the rest. Nothing is checked before a center is opened with it.
        public init(
            directory: String? = nil,
            maximumPayloadSize: Int? = nil,
            slots: Int? = nil,
            participants: Int? = nil,
            observers: Int? = nil,
            names: Int? = nil,
            permissions: UInt32? = nil,
            group: UInt32? = nil,
            owner: UInt32? = nil,
            isReadOnly: Bool = false,
            allowsSharedDirectory: Bool = false,
            creation: Creation = .ifNeeded,
            followsName: Bool = false
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

        /// For tight places: 512 slots and 256 KiB of memory in all, plus payloads that do not fit a slot.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter(named: "com.example.player", configuration: .small)
        /// ```
        public static let small = CenterHandle.smallConfiguration
    }
}
