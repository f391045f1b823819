extension SharedNotificationCenter {
    /// Where an observer starts.
    public enum Start: Hashable, Sendable {
        /// With what is posted after registration, and before that the retained notification of the name, if there is one.
        case now
        /// With the oldest notification still in the ring.
        case oldest
        /// With that place in the order, or the oldest after it that is still in the ring. What was lost of it already is reported as missed
        /// only as far as it was evicted after registration.
        case sequence(UInt64)
    }

    /// What a sequence keeps of more than may wait for it.
    public enum Keeping: Hashable, Sendable {
        /// The newest: the oldest are dropped, and reported as missed in front of the rest.
        case newest
        /// The oldest: what comes is dropped, and reported as missed where it would have been.
        case oldest
    }

    /// What a sequence of `deliveries(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onUndecodable:)` yields.
    public enum Delivery<M: Message>: Sendable {
        /// A notification.
        case message(M, Envelope)
        /// So many matching notifications were lost before the next one.
        case missed(Int)
    }

    /// What a sequence of a key's `deliveries(of:subject:from:excludingOwnPosts:lossless:bufferSize:keeping:onUndecodable:)` yields, with its
    /// arguments as a tuple.
    public enum KeyDelivery<Arguments: Sendable>: Sendable {
        /// A notification.
        case message(Arguments, Envelope)
        /// So many matching notifications were lost before the next one.
        case missed(Int)
    }

    /// What a sequence of raw deliveries yields.
    public enum RawDelivery: Hashable, Sendable {
        /// A notification.
        case notification(RawNotification)
        /// So many notifications were lost before the next one; of that name, or of all observed names together if `nil`.
        case missed(Int, Name?)
    }
}
