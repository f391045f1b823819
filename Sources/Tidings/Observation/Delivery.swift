extension SharedNotificationCenter {
    /// Where an observer starts: with what is posted from now on, or with what is in the ring already.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let (last, incarnation) = (41 as UInt64, 0x7c1d_55a0_9e2b_4f36 as UInt64)     // of the last envelope it saw, before it was restarted
    /// let start = center.incarnation == incarnation ? SharedNotificationCenter.Start.after(last, in: incarnation) : .oldest
    /// for await delivery in center.deliveries(ofNames: nil, from: start) {
    ///     if case .notification(let notification) = delivery { print(notification.envelope.sequence, notification.name) }
    /// }
    /// ```
    ///
    /// The ring has at most the last 4,096 notifications of all names, or as many as ``Configuration-swift.struct/slots`` says. Anything but ``now``
    /// takes one of the center's observer places and a thread of its own.
    public enum Start: Hashable, Sendable {
        /// With what is posted after registration, and before that the retained notification of each observed name that has one, in the order they
        /// were posted in.
        case now
        /// With the oldest notification still in the ring, and before that what is retained and older.
        case oldest
        /// After that place in the order of the center with that ``SharedNotificationCenter/incarnation``, or with the oldest after it that is still in
        /// the ring, without what is retained. Notifications that had left the ring before registration are not reported as missed.
        ///
        /// Registering throws ``SharedNotificationError/Code-swift.enum/otherIncarnation`` if the center is another one, and
        /// ``SharedNotificationError/Code-swift.enum/invalidArgument`` if it has no such place yet.
        case after(_ sequence: UInt64, in: UInt64)

        /// After that notification: for a program that keeps what it saw last, see ``Start``.
        public static func after(_ envelope: Envelope) -> Start {
            .after(envelope.sequence, in: envelope.incarnation)
        }
    }

    /// What a sequence keeps of more than may wait for it. What it drops is reported as missed.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Double }
    /// let center = try SharedNotificationCenter.default
    /// for await moved in center.messages(of: Moved.self, bufferSize: 1, keeping: .newest) { print(moved.x) }
    /// ```
    public enum Keeping: Hashable, Sendable {
        /// The newest: the oldest are dropped, and reported as missed in front of the rest.
        case newest
        /// The oldest: what comes is dropped, and reported as missed where it would have been.
        case oldest
    }

    /// What a sequence of a message type's `deliveries(of:…)` yields: messages with their envelopes, and losses where they occurred.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// for await delivery in center.deliveries(of: TrackChanged.self) {
    ///     switch delivery {
    ///     case .message(let change, let envelope): print("#\(envelope.sequence) from \(envelope.poster.pid): \(change.title)")
    ///     case .missed(let count): print("\(count) went by unseen")
    ///     case .reopened, .centerEnded: print("another center, or none")
    ///     }
    /// }
    /// ```
    public enum Delivery<M: Message>: Sendable {
        /// A notification.
        case message(M, Envelope)
        /// So many matching notifications were lost before the next one.
        case missed(Int)
        /// What comes next is from another center of the name, with this incarnation: the one before has ended, and the center object follows its name
        /// (``Configuration-swift.struct/followsName``). Its sequence numbers begin anew.
        case reopened(incarnation: UInt64)
        /// The center has ended, or can't be used any more, for this reason: the last element. Most often ``SharedNotificationError/Code-swift.enum/removed``.
        case centerEnded(SharedNotificationError)
    }

    /// What a sequence of a key's `deliveries(of:…)` yields: its arguments as a tuple, with their envelopes, and losses where they occurred.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// for await delivery in try SharedNotificationCenter.default.deliveries(of: progress) {
    ///     switch delivery {
    ///     case .message((let percent, let stage), let envelope): print("#\(envelope.sequence) \(stage): \(percent) %")
    ///     case .missed(let count): print("\(count) went by unseen")
    ///     case .reopened, .centerEnded: print("another center, or none")
    ///     }
    /// }
    /// ```
    public enum KeyDelivery<Arguments: Sendable>: Sendable {
        /// A notification.
        case message(Arguments, Envelope)
        /// So many matching notifications were lost before the next one.
        case missed(Int)
        /// What comes next is from another center of the name, with this incarnation: the one before has ended, and the center object follows its name
        /// (``Configuration-swift.struct/followsName``). Its sequence numbers begin anew.
        case reopened(incarnation: UInt64)
        /// The center has ended, or can't be used any more, for this reason: the last element. Most often ``SharedNotificationError/Code-swift.enum/removed``.
        case centerEnded(SharedNotificationError)
    }

    /// What a sequence of raw deliveries yields, and ``PollableObserver/next()`` returns: notifications with their payloads as they travel, and
    /// losses. ``PollableObserver/next()`` returns only these two, and throws when the center has ended.
    ///
    /// ```swift
    /// func line(_ delivery: SharedNotificationCenter.RawDelivery) -> String {
    ///     switch delivery {
    ///     case .notification(let notification): "\(notification.name) \(notification.payload.json)"
    ///     case .missed(let count, let name): "\(count) missed of \(name?.rawValue ?? "all names")"
    ///     case .reopened(let incarnation): "in center \(incarnation) from here on"
    ///     case .centerEnded(let error): error.message
    ///     }
    /// }
    /// ```
    public enum RawDelivery: Hashable, Sendable {
        /// A notification.
        case notification(RawNotification)
        /// So many notifications were lost before the next one; of that name, of all that begin so (`com.example.*`), or of all observed names
        /// together if `nil`.
        case missed(Int, Name?)
        /// What comes next is from another center of the name, with this incarnation: the one before has ended, and the center object follows its name
        /// (``Configuration-swift.struct/followsName``). Its sequence numbers begin anew.
        case reopened(incarnation: UInt64)
        /// The center has ended, or can't be used any more, for this reason: the last element. Most often ``SharedNotificationError/Code-swift.enum/removed``.
        case centerEnded(SharedNotificationError)
    }
}
