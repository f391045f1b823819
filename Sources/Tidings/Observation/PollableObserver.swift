extension SharedNotificationCenter {
    /// An observer for event loops of one's own: a descriptor that is readable while there may be something, and a function that takes it,
    /// one after the other, without waiting.
    ///
    /// With Dispatch:
    /// ```swift
    /// let observer = try SharedNotificationCenter.default.pollableObserver(forNames: ["com.example.changed"])
    /// let source = DispatchSource.makeReadSource(fileDescriptor: observer.fileDescriptor, queue: .main)
    /// source.setEventHandler {
    ///     do {
    ///         while let delivery = try observer.next() {
    ///             if case .notification(let notification) = delivery { print(notification.name, notification.payload.json) }
    ///         }
    ///     } catch {
    ///         print(error)
    ///         source.cancel()
    ///     }
    /// }
    /// source.setCancelHandler { withExtendedLifetime(observer) {} }
    /// source.activate()
    /// ```
    /// With `poll` or `epoll`, level or edge triggered, likewise: when it is readable, ``next()`` until it returns `nil`. Where it throws,
    /// leave the loop: the descriptor stays readable, and the next call throws again.
    ///
    /// Promise:
    /// - the descriptor stays the same and open as long as the object lives, whatever becomes of posters and other observers. When the center has
    ///   ended, it stays readable;
    /// - it is readable from the start. ``next()`` that returns `nil` makes it unreadable, and anything that is posted from then on makes it
    ///   readable again, also between the two. It may be readable with nothing there;
    /// - nothing is called by itself: no thread of the library's runs code of yours. (There is one that sleeps in the descriptor's stead.)
    ///
    /// Takes an observer place of the center. Observing ends when the object goes: take the descriptor out of the loop before.
    public final class PollableObserver: Sendable {
        private let observer: ObserverHandle
        private let subscription: Subscription
        private let names: [UInt32: Name]
        private let executables: ExecutableNames
        private let diagnostics: Diagnostics
        private let generation = Forking.generation
        /// Held during a call of the C library, and while what it found is copied.
        private let lock = Lock()

        /// For `DispatchSource`, `poll`, `epoll`. It is the object's: don't read or close it.
        public let fileDescriptor: Int32

        fileprivate init(_ subscription: Subscription, in core: CenterCore) throws(SharedNotificationError) {
            try core.refuse(subscription)
            self.subscription = subscription
            diagnostics = core.diagnostics
            var names: [UInt32: Name] = [:]
            (observer, executables) = try core.link.inLatest { (center) throws(SharedNotificationError) in
                let observer = try ObserverHandle(center: center, lossless: subscription.isLossless)
                try observer.seek(to: subscription.start)
                names = [:]
                try observer.add(subscription) { names[$1] = $0 }
                return (observer, ExecutableNames(center: center))
            }
            self.names = names
            fileDescriptor = try observer.descriptor()
        }

        /// What came next; `nil`: nothing is there, and the descriptor is unreadable until there is. Never waits for anything to come.
        ///
        /// ```swift
        /// let observer = try SharedNotificationCenter.default.pollableObserver(forNames: ["com.example.changed"])
        /// var loop = pollfd(fd: observer.fileDescriptor, events: Int16(POLLIN), revents: 0)
        /// while poll(&loop, 1, -1) == 1, loop.revents == Int16(POLLIN) {
        ///     while let delivery = try observer.next() { print(delivery) }
        /// }
        /// ```
        ///
        /// From any thread; several take what comes among themselves.
        ///
        /// - Throws: ``SharedNotificationError``: `.removed` once the center has ended and all that was posted before has been returned; `.forked` in
        ///   a child of the process that made it; `.system(EBADF)` if the program has closed the center's own descriptor, so that others took it for
        ///   dead: open the center anew.
        public func next() throws(SharedNotificationError) -> RawDelivery? {
            if generation != Forking.generation {
                throw SharedNotificationError(
                    .forked, message: "can't use an observer in a forked child; open the center anew there")
            }
            let delivery = try lock.withLock { () throws(SharedNotificationError) -> RawDelivery? in
                while try observer.poll() {
                    if let missed = observer.missed {
                        let name = observer.subscriptions.first.flatMap { names[$0] }
                        return .missed(missed, name ?? observer.missedPattern)
                    }
                    if subscription.matches(observer) { return .notification(notification) }
                }
                return nil
            }
            if case .missed(let count, _) = delivery { diagnostics.countMissed(count) }
            return delivery
        }

        private var notification: RawNotification {
            defer { observer.dropPayload() }
            return RawNotification(
                name: Name(observer.name),
                payload: RawPayload(format: PayloadFormat(rawValue: observer.format), bytes: observer.ownedPayload),
                envelope: observer.facts.envelope(subject: observer.subject, executables))
        }
    }

    /// Starts to observe some names, all that begin with something, or all names, for an event loop. For the promise, and examples, see
    /// ``PollableObserver``.
    ///
    /// - Parameters:
    ///   - names: the names to observe; `nil`: all.
    ///   - prefixes: observe also all names that begin with one of these. This, and how it is told what was missed of them, as for
    ///     `addObserver(forNames:prefixes:subject:from:excludingOwnPosts:lossless:onMissed:queue:using:)`.
    ///   - subject: only those posted with this subject; `nil`: all.
    ///   - start: where to start.
    ///   - excludingOwnPosts: leave out what is posted through this center object. A count of what was missed includes them: of what
    ///     is lost nobody can tell any more whose it was.
    ///   - lossless: hold posters back rather than lose anything.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument` (neither a name nor a prefix), `.noSpace` (for names, or prefixes),
    ///   `.tooManyObservers`, `.notPermitted` (lossless, or a prefix, in a center that was opened for reading only), `.forked`, `.system` (no
    ///   descriptor, thread or memory).
    public func pollableObserver(
        forNames names: [Name]?,
        prefixes: [String] = [],
        subject: String? = nil,
        from start: Start = .now,
        excludingOwnPosts: Bool = false,
        lossless: Bool = false
    ) throws(SharedNotificationError) -> PollableObserver {
        try PollableObserver(
            Subscription(
                names: names, prefixes: prefixes, subject: subject, start: start, excludesOwn: excludingOwnPosts,
                isLossless: lossless),
            in: core)
    }
}
