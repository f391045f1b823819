extension SharedNotificationCenter {
    /// An observer for a program's own event loop: a descriptor that is readable while a delivery may be available, and
    /// a function that takes one delivery without waiting.
    ///
    /// With Dispatch:
    /// ```swift
    /// let observer = try SharedNotificationCenter.default.pollableObserver(forNames: ["com.example.changed"])
    /// let source = DispatchSource.makeReadSource(fileDescriptor: observer.fileDescriptor, queue: .main)
    /// source.setEventHandler {
    ///     do {
    ///         while let delivery = try observer.next() { print(delivery) }
    ///     } catch {
    ///         print(error)
    ///         source.cancel()
    ///     }
    /// }
    /// source.setCancelHandler { withExtendedLifetime(observer) {} }
    /// source.activate()
    /// ```
    /// With `poll` or `epoll`, level or edge triggered: when the descriptor is readable, call ``next()`` until it
    /// returns `nil`. If it throws, leave the loop. The descriptor stays readable, and the next call throws again.
    ///
    /// A loop that reads and closes its descriptors, as SwiftNIO does, can have a duplicate (`dup`), if it calls
    /// ``next()`` until it returns `nil` after each read. The package's folder `Examples/Servers` has such a program.
    ///
    /// Promise:
    /// - the descriptor keeps its number and stays open while the object is alive, whatever posters and other observers
    ///   do. After the center has ended, the descriptor stays readable;
    /// - the descriptor is readable at the beginning. A ``next()`` that returns `nil` makes it unreadable. Any later
    ///   post makes it readable again, even a post during that call. The descriptor may be readable when no delivery is
    ///   available;
    /// - no thread of the library calls code of the program. One thread of the library sleeps and makes the descriptor
    ///   readable.
    ///
    /// Uses an observer slot of the center. Observation ends when the object is released: remove the descriptor from
    /// the event loop before.
    public final class PollableObserver: Sendable {
        private let observer: ObserverHandle
        private let subscription: Subscription
        private let names: [UInt32: Name]
        private let centerNames: CenterNames
        private let diagnostics: Diagnostics
        private let generation = Forking.generation
        /// Held during a call of the C library, and while its result is copied.
        private let lock = Lock()

        /// For `DispatchSource`, `poll`, `epoll`. The object owns the descriptor: do not read from it or close it.
        public let fileDescriptor: Int32

        /// - Parameter hasDescriptor: without one, no post wakes a thread for this object.
        init(
            _ subscription: Subscription, in core: CenterCore, hasDescriptor: Bool = true
        ) throws(SharedNotificationError) {
            try core.refuse(subscription)
            self.subscription = subscription
            diagnostics = core.diagnostics
            var names: [UInt32: Name] = [:]
            (observer, centerNames) = try core.link.inLatest { (center) throws(SharedNotificationError) in
                let observer = try ObserverHandle(
                    center: center, lossless: subscription.isLossless, inPlace: subscription.inPlace)
                try observer.seek(to: subscription.start)
                names = [:]
                try observer.add(subscription) { names[$1] = $0 }
                return (observer, CenterNames(center: center))
            }
            self.names = names
            fileDescriptor = hasDescriptor ? try observer.descriptor() : -1
        }

        /// The next delivery. `nil`: no delivery is available, and the descriptor is unreadable until one is. Never
        /// waits.
        ///
        /// ```swift
        /// let observer = try SharedNotificationCenter.default.pollableObserver(forNames: ["com.example.changed"])
        /// var loop = pollfd(fd: observer.fileDescriptor, events: Int16(POLLIN), revents: 0)
        /// while poll(&loop, 1, -1) == 1, loop.revents == Int16(POLLIN) {
        ///     while let delivery = try observer.next() { print(delivery) }
        /// }
        /// ```
        ///
        /// From any thread. If several threads call this, each delivery goes to one of them.
        ///
        /// - Throws: ``SharedNotificationError``: `.removed` after the center has ended and all earlier notifications
        ///   have been returned; `.forked` in a child of the process that made the object; `.system(EBADF)` if the
        ///   program has closed the center's own descriptor. Peers then treat this process as dead: open the center
        ///   again.
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
            // A counter of posts has missed nothing: it counts these, too.
            if fileDescriptor >= 0, case .missed(let count, _) = delivery { diagnostics.countMissed(count) }
            return delivery
        }

        private var notification: Notification {
            defer { observer.dropPayload() }
            return observer.arrival(for: nil, observer.keptPayload(holds: true), centerNames).notification
        }
    }
}
