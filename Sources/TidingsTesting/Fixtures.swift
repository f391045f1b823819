public import Tidings

/// Makes what observers receive, for tests of closures and of loops without a center.
///
/// ```swift
/// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
/// var fixtures = NotificationFixtures()
/// let deliveries = [
///     fixtures.delivery(TrackChanged(title: "So What")), fixtures.missed(3),
///     fixtures.delivery(TrackChanged(title: "Solar")),
/// ]
/// for case .message(let change, let envelope) in deliveries { print(envelope.sequence, change.title) }
/// ```
///
/// The values fit each other, as those of one center do: sequences and times grow.
public struct NotificationFixtures: Sendable {
    /// The incarnation of the center that the values seem to be of.
    public var incarnation: UInt64
    /// The process that seems to have posted.
    public var poster: SharedNotificationCenter.Poster
    /// The sequence of the next notification.
    public var nextSequence: UInt64
    /// The time of the next post, in nanoseconds since 1970.
    public var nextTime: UInt64
    /// From one post to the next, in nanoseconds.
    public var interval: UInt64

    /// Begins with a sequence of 1, and with a fixed time, so that tests repeat. Every argument may be left out.
    public init(
        incarnation: UInt64 = 1,
        poster: SharedNotificationCenter.Poster = .init(pid: 4711, uid: 1000, executable: "peer"),
        nextSequence: UInt64 = 1, nextTime: UInt64 = 1_700_000_000_000_000_000, interval: UInt64 = 1_000_000
    ) {
        self.incarnation = incarnation
        self.poster = poster
        self.nextSequence = nextSequence
        self.nextTime = nextTime
        self.interval = interval
    }

    /// The envelope of the next notification, as ``NotificationFixtures`` shows it in a delivery.
    public mutating func envelope(
        subject: String? = nil, isRetained: Bool = false, isOwn: Bool = false
    ) -> SharedNotificationCenter.Envelope {
        defer {
            nextSequence &+= 1
            nextTime &+= interval
        }
        return SharedNotificationCenter.Envelope(
            sequence: nextSequence, incarnation: incarnation, postedAtNanoseconds: nextTime, poster: poster,
            subject: subject, isRetained: isRetained, isOwn: isOwn)
    }

    /// The next delivery of `deliveries(of:…)`, as ``NotificationFixtures`` shows.
    public mutating func delivery<Value: Sendable>(
        _ value: Value, subject: String? = nil, isRetained: Bool = false, isOwn: Bool = false
    ) -> SharedNotificationCenter.Delivery<Value> {
        .message(value, envelope(subject: subject, isRetained: isRetained, isOwn: isOwn))
    }

    /// A loss of notifications, as ``NotificationFixtures`` shows. It uses as many sequences.
    public mutating func missed<Value: Sendable>(_ count: Int) -> SharedNotificationCenter.Delivery<Value> {
        nextSequence &+= UInt64(max(0, count))
        nextTime &+= interval &* UInt64(max(0, count))
        return .missed(count)
    }

    /// The next notification without a type: the message as it travels, with the name of its type.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// var fixtures = NotificationFixtures()
    /// print(try fixtures.notification(TrackChanged(title: "So What")).payload.json)
    /// ```
    ///
    /// - Throws: the encoder's error.
    public mutating func notification<M: SharedNotificationCenter.Message>(
        _ message: M, subject: String? = nil
    ) throws -> SharedNotificationCenter.Notification {
        let payload = try SharedNotificationCenter.RawPayload(inItsEncoding: message)
        let envelope = envelope(subject: subject)
        return SharedNotificationCenter.Notification(name: M.name, payload: payload, envelope: envelope)
    }
}
