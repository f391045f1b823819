// The options of an observer, as one value, and the names that an untyped observer observes.

public import Dispatch

extension SharedNotificationCenter {
    /// How an observer observes. Every function that registers an observer takes these options.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// var options = SharedNotificationCenter.ObserverOptions(subject: "player-1", from: .oldest)
    /// options.onMissed = { count, _ in print("\(count) missed") }
    /// let token = try center.addObserver(for: TrackChanged.self, options: options) { print($0.title) }
    /// ```
    public struct ObserverOptions: Sendable {
        /// Only notifications that were posted with this subject, 1 to 255 bytes of UTF-8; `nil`: all notifications.
        public var subject: String?
        /// Where the observer starts. Every value except `.now` uses an observer slot of the center and a thread.
        public var start: Start
        /// Leaves out notifications that this center object posts. A count of missed notifications includes them,
        /// because the poster of a lost notification is unknown.
        public var excludesOwnPosts: Bool
        /// Which notifications are delivered, by where they were first posted. A count of missed notifications includes
        /// those of every origin.
        public var origin: OriginFilter
        /// Posts are held back rather than overwrite a notification that this observer has not received.
        ///
        /// Such a post waits for room until its timeout, if it has one, and then fails with `.full`. Uses an observer
        /// slot of the center and a thread.
        public var isLossless: Bool
        /// Which payloads are read in place: where they lie in the center, without a copy; `nil`: none.
        public var inPlace: InPlace?
        /// The object that the observation belongs to; the center object holds it weakly.
        ///
        /// After the object is released, no closure is called for it, even if the token is kept. The observation then
        /// ends, at the latest with its next notification. Until then the center object keeps the observation alive, so
        /// the token may be dropped. All observations of one owner receive their notifications in one order, and one at
        /// a time; an observation that is lossless, reads in place, or starts with history, has an order of its own.
        /// ``SharedNotificationCenter/removeObservers(of:)`` ends all of them.
        ///
        /// An owner has one observation for each combination of names, message type and subject. If it registers again
        /// with a closure that runs in the same context (no queue or the same queue, the main actor, a task), the new
        /// closure replaces the old one, and no notification is lost or arrives twice. The other options of the first
        /// registration remain, except ``onUndecodable``. A closure for another context ends the first observation and
        /// starts a new one, and notifications in between are lost. The tokens of both registrations are equal if the
        /// closure was replaced: `cancel()` of one ends the other. A closure should refer to the owner weakly.
        public var owner: (any AnyObject & Sendable)?
        /// Where a closure runs that is neither asynchronous nor isolated to an actor; `nil`: on the center object's
        /// dispatcher thread.
        public var queue: DispatchQueue?
        /// The threads on which an asynchronous closure runs while it is not on an actor with an executor of its own;
        /// `nil`: threads of the library.
        ///
        /// A closure that blocks one of the library's threads takes none from the program's tasks. If an executor runs
        /// on a single thread, that thread must be free for the closure to end. Therefore do not call `cancel()` on it
        /// outside of tasks.
        public var executor: (any TaskExecutor)?
        /// Receives the number of lost matching notifications before the next notification, in the closure's context,
        /// and their name (`nil`: the number is for all observed names together; `com.example.*` for a prefix).
        /// `nil`: ``SharedNotificationCenter/onDiagnostic`` receives them.
        public var onMissed: (@Sendable (Int, Name?) -> Void)?
        /// Receives payloads that do not decode as the observed type, in the closure's context. `nil`:
        /// ``SharedNotificationCenter/onDiagnostic`` receives them.
        public var onUndecodable: (@Sendable (Notification, any Error) -> Void)?

        /// Creates options, each as the property that it sets says. Every argument may be left out.
        public init(
            subject: String? = nil, from start: Start = .now, excludingOwnPosts: Bool = false,
            origin: OriginFilter = .any, lossless: Bool = false, inPlace: InPlace? = nil,
            owner: (any AnyObject & Sendable)? = nil, queue: DispatchQueue? = nil,
            executor: (any TaskExecutor)? = nil,
            onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
            onUndecodable: (@Sendable (Notification, any Error) -> Void)? = nil
        ) {
            self.subject = subject
            self.start = start
            excludesOwnPosts = excludingOwnPosts
            self.origin = origin
            isLossless = lossless
            self.inPlace = inPlace
            self.owner = owner
            self.queue = queue
            self.executor = executor
            self.onMissed = onMissed
            self.onUndecodable = onUndecodable
        }
    }

    /// Which payloads an observer reads in place (``ObserverOptions/inPlace``).
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: "com.example.frame", options: .init(inPlace: .large)) {
    ///     print($0.payload.withBytes { $0.byteCount })
    /// }
    /// ```
    ///
    /// A message is decoded from the center's memory. A ``Notification`` has a payload there:
    /// ``RawPayload/withBytes(_:)`` reads it. Posters do not use the memory meanwhile: until the message is decoded, or
    /// until the last copy of the payload is gone. They never wait for it. If all memory that is large enough for a
    /// payload is held (the largest size has room for 16 payloads), its post fails at once with `.full`, and the
    /// error's message names the process that holds most. `tidings stat` shows how many payloads each process holds,
    /// and since when. So keep such a payload for a short time, or keep its ``RawPayload/bytes``.
    ///
    /// A center object holds at most 31 payloads. At most 4 of them wait for any one observer. Further payloads are
    /// copied, as are all that arrive during a suspension, or in a center opened read-only. The holds of a dead process
    /// end. A held payload keeps the center open. In a forked child, the payload is valid as long as the parent holds
    /// it.
    ///
    /// A process with write access that does not keep to the library's rules can change a payload while it is read.
    /// Decoding then gives wrong values or fails, and nothing worse. A ``PayloadCoder``, a ``BytesMessage`` and the
    /// methods of a protocol are given a copy. An observer with this option uses an observer slot of the center and a
    /// thread.
    public struct InPlace: Hashable, Sendable {
        /// The least size in bytes.
        public var threshold: Int

        /// Payloads of 16 KiB or more. Smaller ones are copied in about the time that holding them takes.
        public static let large = InPlace.from(16_384)

        /// Payloads of so many bytes or more; a negative number counts as 0. Payloads of at most 200 bytes are always
        /// copied. For an example see ``InPlace``.
        public static func from(_ bytes: Int) -> InPlace { InPlace(threshold: bytes) }
    }

    /// The names that an untyped observer observes: all, some, or all that begin with a prefix.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let one = try center.addObserver(forNames: "com.example.volume") { print($0.name) }
    /// let some = try center.addObserver(forNames: ["com.example.volume", "com.example.track"]) { print($0.name) }
    /// let player = try center.addObserver(forNames: .prefix("com.example.player.")) { print($0.name) }
    /// let all = try center.addObserver(forNames: .all) { print($0.name) }
    /// ```
    ///
    /// A prefix is compared byte by byte: `com.example.` matches `com.example.a` and not `com.examples`. It has 1 to
    /// 255 bytes of UTF-8 without `*`, or is empty and matches all names. A center holds 256 different prefixes. Posts
    /// of other names do not wake an observer of prefixes; every post wakes an observer of all names.
    public struct Names: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
        /// `nil`: all names.
        let names: [Name]?
        let prefixes: [String]

        /// All names.
        public static let all = Names(nil)

        /// All names that begin with a prefix. For an example see ``Names``.
        public static func prefix(_ prefix: String) -> Names { Names([], prefixes: [prefix]) }

        /// Some names, and all names with one of some prefixes. With `nil` in place of names: all names, and then the
        /// prefixes have no effect.
        public init(_ names: [Name]?, prefixes: [String] = []) {
            self.names = names
            self.prefixes = prefixes
        }

        /// The name in the program's text.
        public init(stringLiteral name: String) { self.init([Name(name)]) }

        /// The names in the program's text.
        public init(arrayLiteral names: Name...) { self.init(names) }
    }
}

extension SharedNotificationCenter.ObserverOptions {
    func subscription(to names: SharedNotificationCenter.Names) -> Subscription {
        Subscription(
            names: names.names, prefixes: names.prefixes, subject: subject, start: start, excludesOwn: excludesOwnPosts,
            origin: origin, isLossless: isLossless, inPlace: inPlace?.threshold)
    }

    /// The context of a closure that is not asynchronous: the actor that it is isolated to, or the queue.
    func manner(
        isolation: (any Actor)?, _ closure: @escaping @Sendable (Arrival) -> Void
    ) throws(SharedNotificationError) -> Manner {
        if executor != nil { throw Self.contradiction("an executor", "not asynchronous") }
        guard let isolation else { return .closure(queue, closure) }
        if queue != nil { throw Self.contradiction("a queue", "isolated to an actor") }
        if isolation is MainActor { return .mainActor { closure($0) } }
        return .isolated(isolation, closure)
    }

    /// The context of an asynchronous closure.
    func manner(_ closure: @escaping @Sendable (Arrival) async -> Void) throws(SharedNotificationError) -> Manner {
        if queue != nil { throw Self.contradiction("a queue", "asynchronous") }
        return .task(executor, closure)
    }

    private static func contradiction(_ option: String, _ kind: String) -> SharedNotificationError {
        SharedNotificationError(
            .invalidArgument,
            message: "can't add an observer with \(option): its closure is \(kind); leave the option out")
    }
}
