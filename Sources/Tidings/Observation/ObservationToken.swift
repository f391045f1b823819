extension SharedNotificationCenter {
    /// Keeps an observation alive. The observation ends with ``cancel()``. Releasing the token's last copy has the same
    /// effect. An observation with an ``ObserverOptions/owner`` does not need its token: it ends with ``cancel()``, or
    /// when the owner is released.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(for: TrackChanged.self) { print($0.title) }
    /// token.cancel()
    ///
    /// var tokens: Set<SharedNotificationCenter.ObservationToken> = []      // or an array
    /// try center.addObserver(for: TrackChanged.self) { print($0.title) }.store(in: &tokens)
    /// tokens.removeAll()
    /// ```
    ///
    /// Copies refer to the same observation, and are equal. The token does not depend on the center object that made
    /// it.
    public struct ObservationToken: Hashable, Sendable {
        /// `nil`: observing could not start, which has been reported.
        let anchor: ObservationAnchor?

        /// Ends the observation, as ``ObservationToken`` shows. Idempotent, from any thread.
        ///
        /// Promise: after this call has returned, the closure is not running and does not run again. If the closure is
        /// running on another thread, this call waits until it returns. Inside the closure itself, this call returns at
        /// once. If closures cancel each other, one of the calls does not wait. Therefore do not call this while
        /// holding a lock that the closure takes.
        ///
        /// Asynchronous closures are the only exception. The task of a running call is cancelled. In synchronous code,
        /// this call waits for that task. Inside any task, and on the main thread, this call does not wait, because the
        /// closure may need that actor or thread to end. In these contexts, ``cancelAndWait()`` gives the whole
        /// promise.
        public func cancel() { anchor?.observation.cancel(waiting: true) }

        /// Ends the observation of this ``ObservationToken``, and returns when the closure is not running, for every
        /// kind of closure. Inside the closure itself, this call returns at once.
        ///
        /// The task of a running asynchronous call is cancelled. If the waiting task itself is cancelled, it still
        /// waits.
        public func cancelAndWait() async { await anchor?.observation.cancelAndWait() }

        /// Whether the observation has ended, for any reason. In a forked child it has always ended. The closure may
        /// still be running.
        ///
        /// After ``Diagnostic/dispatchFailed(_:)``, the observation has ended when its closure has received what waited
        /// for it.
        public var isCancelled: Bool { anchor?.isCancelled ?? true }

        /// Stores the token in a set, as ``ObservationToken`` shows. The observation ends when the token is removed, or
        /// with the set.
        public func store(in tokens: inout Set<ObservationToken>) { tokens.insert(self) }

        /// Appends the token to a collection, such as an array, as ``ObservationToken`` shows.
        public func store(in tokens: inout some RangeReplaceableCollection<ObservationToken>) {
            tokens.append(self)
        }
    }
}
