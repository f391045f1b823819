// The public types of observation: where an observer starts, what a full buffer keeps, and the elements of sequences.

extension SharedNotificationCenter {
    /// Where an observer starts: at the next position, or at a position that is still in the ring.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// // Of the last envelope that the program received before its restart.
    /// let (last, incarnation) = (41 as UInt64, 0x7c1d_55a0_9e2b_4f36 as UInt64)
    /// let isSame = center.incarnation == incarnation
    /// let start = isSame ? SharedNotificationCenter.Start.after(last, in: incarnation) : .oldest
    /// for await delivery in center.deliveries(ofNames: .all, options: .init(from: start)) {
    ///     if case .notification(let notification) = delivery {
    ///         print(notification.envelope.sequence, notification.name)
    ///     }
    /// }
    /// ```
    ///
    /// The ring holds at most the last 4,096 notifications of all names, or as many as
    /// ``Configuration-swift.struct/slots`` says. Every value except ``now`` uses an observer slot of the center and a
    /// thread.
    public enum Start: Hashable, Sendable {
        /// Starts with the notifications that are posted after registration. Before them, each observed name delivers
        /// its retained notification, if it has one. Retained notifications come in the order of their positions.
        case now
        /// Starts with the oldest notification in the ring. Older retained notifications come before it.
        case oldest
        /// Starts after this position in the center with this ``SharedNotificationCenter/incarnation``, without
        /// retained notifications.
        ///
        /// If the next position has left the ring, the observer starts with the oldest later notification in the ring.
        /// Notifications that left the ring before registration are not reported as missed.
        ///
        /// Registering throws ``SharedNotificationError/Code-swift.struct/otherIncarnation`` if the center is another
        /// one. It throws ``SharedNotificationError/Code-swift.struct/invalidArgument`` if the center has not reached
        /// this position.
        case after(_ sequence: UInt64, in: UInt64)

        /// Starts after this notification, as ``Start`` shows for a stored position.
        public static func after(_ envelope: Envelope) -> Start {
            .after(envelope.sequence, in: envelope.incarnation)
        }
    }

    /// Which elements the full buffer of a sequence keeps. The dropped elements are reported as missed.
    ///
    /// ```swift
    /// struct Moved: SharedNotificationCenter.Message { var x: Double }
    /// let center = try SharedNotificationCenter.default
    /// for await moved in center.messages(of: Moved.self, bufferSize: 1, keeping: .newest) { print(moved.x) }
    /// ```
    public enum Keeping: Hashable, Sendable {
        /// Keeps the newest: drops the oldest elements, and reports them as missed before the remaining elements.
        case newest
        /// Keeps the oldest: drops each new element, and reports it as missed at its position in the order.
        case oldest
    }

    /// An element of `deliveries(of:…)`: a message, or a key's arguments as a tuple, with its envelope; or a loss where
    /// it occurred.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// for await delivery in center.deliveries(of: TrackChanged.self) {
    ///     switch delivery {
    ///     case .message(let change, let envelope):
    ///         print("#\(envelope.sequence) from \(envelope.poster.pid): \(change.title)")
    ///     case .missed(let count): print("missed \(count)")
    ///     case .reopened, .centerEnded: print("another center, or none")
    ///     }
    /// }
    /// ```
    public enum Delivery<Value: Sendable>: Sendable {
        /// A notification.
        case message(Value, Envelope)
        /// This many matching notifications were lost before the next one.
        case missed(Int)
        /// The following elements come from another center of the same name, with this incarnation. The previous center
        /// has ended, and the center object follows its name (``Configuration-swift.struct/followsName``). Sequence
        /// numbers start again.
        case reopened(incarnation: UInt64)
        /// The last element: the center has ended or is unusable, for this reason, most often
        /// ``SharedNotificationError/Code-swift.struct/removed``.
        case centerEnded(SharedNotificationError)
    }

    /// An element of a raw sequence, and the result of ``PollableObserver/next()``: a notification or a loss.
    ///
    /// Payloads are the bytes as posted. ``PollableObserver/next()`` returns `.notification` and `.missed` only.
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
        case notification(Notification)
        /// This many notifications were lost before the next one. The name is the lost notifications' name, or a prefix
        /// followed by `*` (`com.example.*`). `nil`: the number is for all observed names together.
        case missed(Int, Name?)
        /// As ``Delivery/reopened(incarnation:)``.
        case reopened(incarnation: UInt64)
        /// As ``Delivery/centerEnded(_:)``.
        case centerEnded(SharedNotificationError)
    }
}
