extension SharedNotificationCenter {
    /// Keeps an observation going: it ends with ``cancel()``, or when the last copy of the token goes away, as if that had cancelled it.
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
    /// Copies stand for the same observation, and are equal. The token does not need the center object that it came from.
    public struct ObservationToken: Hashable, Sendable {
        /// `nil`: observing could not start, and that has been told.
        let anchor: ObservationAnchor?

        /// Ends the observation. Idempotent, from any thread; see ``ObservationToken`` for an example.
        ///
        /// Promise: when this has returned, the closure is not running and will not run again. If it is running on another
        /// thread this waits for it to return; inside the closure itself it returns at once, and of closures that cancel each other one
        /// doesn't wait. So don't call it while holding a lock that the closure takes.
        ///
        /// Asynchronous closures are the one exception. The task of a running call is cancelled, and from synchronous code this waits
        /// for it; but inside any task, and on the main thread, it does not wait, since the closure may need that very
        /// actor or thread to come to its end. There, ``cancelAndWait()`` has the whole promise.
        public func cancel() {
            anchor?.cancel(waiting: true)
        }

        /// Ends the observation, and returns when the closure is not running any more, whatever kind of closure it is. Inside the closure itself it
        /// returns at once.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let center = try SharedNotificationCenter.default
        /// let token = try center.addObserver(for: TrackChanged.self) { change in
        ///     try? await Task.sleep(for: .seconds(60))              // ends at once when the token is cancelled
        ///     print(change.title)
        /// }
        /// await token.cancelAndWait()
        /// ```
        ///
        /// The task of a running asynchronous call is cancelled. That the waiting task itself is cancelled makes no difference.
        public func cancelAndWait() async {
            await anchor?.cancelAndWait()
        }

        /// Whether the observation has ended, by whatever: it has for a forked child, too. Its closure may still be running.
        public var isCancelled: Bool { anchor?.isCancelled ?? true }

        /// Keeps the token in a set, as ``ObservationToken`` shows: the observation ends with the set, or when it is taken out.
        public func store(in tokens: inout Set<ObservationToken>) {
            tokens.insert(self)
        }

        /// Keeps the token at the end of a collection, such as an array, as ``ObservationToken`` shows.
        public func store(in tokens: inout some RangeReplaceableCollection<ObservationToken>) {
            tokens.append(self)
        }

        /// Whether both stand for the same observation.
        public static func == (left: ObservationToken, right: ObservationToken) -> Bool {
            left.anchor === right.anchor
        }

        /// Hashes the observation that it stands for.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(anchor.map(ObjectIdentifier.init))
        }
    }

    /// Ends an observation of this center object: the same as the token's ``ObservationToken/cancel()``. Of another one's tokens it leaves
    /// alone what they stand for, as Foundation's does.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forName: "com.example.changed", object: nil) { print($0.userInfo ?? [:]) }
    /// center.removeObserver(token)
    /// ```
    public func removeObserver(_ token: ObservationToken) {
        guard token.anchor?.observation.diagnostics === core.diagnostics else { return }
        token.cancel()
    }
}
