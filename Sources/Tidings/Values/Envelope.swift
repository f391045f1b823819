public import struct FoundationEssentials.Date

extension SharedNotificationCenter {
    /// The facts about a notification besides its payload.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self) { change, envelope in
    ///     print("#\(envelope.sequence) \(change.title), \(envelope.subject ?? "no subject")")
    ///     print("from \(envelope.poster.pid) at \(envelope.postedAt)")
    /// }
    /// ```
    public struct Envelope: Hashable, Sendable {
        /// The notification's position in the center's one order.
        ///
        /// Positions grow from one notification to the next. Not every position is used.
        public var sequence: UInt64
        /// The ``SharedNotificationCenter/incarnation`` of the center in whose order ``sequence`` is a position.
        public var incarnation: UInt64
        /// The time of the post in nanoseconds since 1970, by the poster's real-time clock.
        ///
        /// The time is exact for a thread's first post in a kernel tick (1 to 4 ms). The thread's other posts in the
        /// same tick have the time of the first.
        public var postedAtNanoseconds: UInt64
        /// The process that posted the notification.
        public var poster: Poster
        /// The subject that the notification is about; `nil` if it was posted without a subject.
        public var subject: String?
        /// Whether this is a retained value, posted before the observer registered.
        public var isRetained: Bool
        /// Whether the notification was posted through this ``SharedNotificationCenter`` object of this process.
        public var isOwn: Bool
        /// Whether the notification reports that its name's retained value was cleared.
        ///
        /// Such a notification has no payload. Observers of a type or of a key do not get it.
        public var isCleared: Bool
        private var sections: SectionFields?

        /// Where a relayed notification was first posted; `nil`: in this center.
        ///
        /// For a relayed notification, ``poster`` is the relay, and ``sequence`` is a position in this center.
        public var origin: Origin? {
            get { sections?.origin }
            set { sections = SectionFields(trace: trace, origin: newValue) }
        }

        /// The poster's trace context; `nil`: it has none. For TidingsService.
        package var trace: TraceFields? {
            get { sections?.trace }
            set { sections = SectionFields(trace: newValue, origin: origin) }
        }

        /// Creates an envelope, for tests of closures that receive one. ``Notification`` has an example.
        public init(
            sequence: UInt64 = 1, incarnation: UInt64 = 1, postedAtNanoseconds: UInt64 = 0, poster: Poster = Poster(),
            subject: String? = nil, isRetained: Bool = false, isOwn: Bool = false, isCleared: Bool = false,
            origin: Origin? = nil
        ) {
            self.sequence = sequence
            self.incarnation = incarnation
            self.postedAtNanoseconds = postedAtNanoseconds
            self.poster = poster
            self.subject = subject
            self.isRetained = isRetained
            self.isOwn = isOwn
            self.isCleared = isCleared
            self.origin = origin
        }

        /// The time in ``postedAtNanoseconds``, rounded to about 0.2 µs.
        public var postedAt: Date { Date(timeIntervalSince1970: Double(postedAtNanoseconds) / 1e9) }
    }

    /// The process that posted a notification, as the process describes itself.
    ///
    /// The description is not verified: a process with write access to the center can write any values.
    ///
    /// ```swift
    /// let token = try SharedNotificationCenter.default.addObserver(forNames: .all) { notification in
    ///     let poster = notification.envelope.poster
    ///     print(poster.executable ?? "a program that has left", poster.pid, poster.uid)
    /// }
    /// ```
    public struct Poster: Hashable, Sendable {
        /// The poster's process ID, in the poster's own pid namespace.
        public var pid: Int32
        /// The poster's user ID.
        public var uid: UInt32
        /// The name of the poster's executable, at most 79 bytes.
        ///
        /// `nil` if the poster had left the center before this process read the name.
        public var executable: String?

        /// Creates a poster, for tests of closures that receive an ``Envelope``.
        public init(pid: Int32 = 0, uid: UInt32 = 0, executable: String? = nil) {
            self.pid = pid
            self.uid = uid
            self.executable = executable
        }
    }

    /// Where a relayed notification was first posted: in a center of another machine, or in another center of this one.
    /// A relay (`tidings relay`) has brought it here.
    ///
    /// ```swift
    /// var options = SharedNotificationCenter.ObserverOptions()
    /// options.origin = .remote
    /// let token = try SharedNotificationCenter.default.addObserver(forNames: .all, options: options) { notification in
    ///     guard let origin = notification.envelope.origin else { return }
    ///     print("\(origin.host ?? "?"): #\(origin.sequence), posted by process \(origin.pid)")
    /// }
    /// ```
    ///
    /// The relay of the other machine states all of this. A relay never posts a remote notification as a local one. A
    /// process with write access to this center can invent an origin, as it can invent a ``Poster``.
    public struct Origin: Hashable, Sendable {
        /// The machine's host name, 1 to 64 bytes; `nil`: no relay of this center has stored it.
        public var host: String?
        /// The name of the center there; `nil`: no relay of this center has stored it.
        public var center: String?
        /// The ``SharedNotificationCenter/incarnation`` of the center there.
        public var incarnation: UInt64
        /// The notification's position in the order of the center there. The notifications of one origin arrive in
        /// that order.
        public var sequence: UInt64
        /// The time of the first post in nanoseconds since 1970, by the clock of the other machine.
        public var postedAtNanoseconds: UInt64
        /// The poster's process ID there.
        public var pid: Int32
        /// The poster's user ID there.
        public var uid: UInt32

        /// Creates an origin, for tests of closures that receive an ``Envelope``.
        public init(
            host: String? = nil, center: String? = nil, incarnation: UInt64 = 1, sequence: UInt64 = 1,
            postedAtNanoseconds: UInt64 = 0, pid: Int32 = 0, uid: UInt32 = 0
        ) {
            self.host = host
            self.center = center
            self.incarnation = incarnation
            self.sequence = sequence
            self.postedAtNanoseconds = postedAtNanoseconds
            self.pid = pid
            self.uid = uid
        }

        init(_ section: OriginSection) {
            self.init(
                incarnation: section.incarnation, sequence: section.sequence,
                postedAtNanoseconds: section.postedAtNanoseconds, pid: section.pid, uid: section.uid)
        }
    }

    /// Which notifications an observer receives, by where they were first posted (``ObserverOptions/origin``). For an
    /// example see ``Origin``.
    public enum OriginFilter: Hashable, Sendable {
        /// All notifications.
        case any
        /// Those posted in this center.
        case local
        /// Those that a relay has brought from another center.
        case remote
        /// Those first posted in the center with this incarnation (``Origin/incarnation``).
        case center(UInt64)
    }
}
