extension SharedNotificationCenter {
    /// Keeps an observation going. It ends with ``cancel()``, or when the last copy of the token goes away.
    public struct ObservationToken: Hashable, Sendable {
        /// `nil`: observing could not start, and that has been told.
        let anchor: ObservationAnchor?

        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let center = try SharedNotificationCenter.default
        /// var tokens: Set<SharedNotificationCenter.ObservationToken> = []
        /// try center.addObserver(for: TrackChanged.self) { print($0.title) }.store(in: &tokens)
        /// tokens.removeAll()
        /// ```
        ///
        /// Ends the observation. Idempotent, from any thread.
        ///
        /// Promise: when this has returned, the closure is not running and will not run again. If it is running on another
        /// thread this waits for it to return; inside the closure itself it returns at once. So don't call it while holding a lock that the
        /// closure takes.
        ///
        /// Asynchronous closures are the one exception. The task of a running call is cancelled, and from synchronous code this waits
        /// for it; but inside any task, and on the main thread, it does not wait, since the closure may need that very
        /// actor or thread to come to its end. There, ``cancelAndWait()`` has the whole promise.
        public func cancel() {
            anchor?.cancel(waiting: true)
        }

        /// Ends the observation, and returns when the closure is not running any more. Inside the closure itself it returns at once.
        public func cancelAndWait() async {
            await anchor?.cancelAndWait()
        }

        /// Whether the observation has been ended.
        public var isCancelled: Bool { anchor?.isCancelled ?? true }

        /// Keeps the token in a set.
        public func store(in tokens: inout Set<ObservationToken>) {
            tokens.insert(self)
        }

        /// Keeps the token in a collection, such as an array.
        public func store(in tokens: inout some RangeReplaceableCollection<ObservationToken>) {
            tokens.append(self)
        }

        /// Whether they stand for the same observation.
        public static func == (left: ObservationToken, right: ObservationToken) -> Bool {
            left.anchor === right.anchor
        }

        /// By the observation.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(anchor.map(ObjectIdentifier.init))
        }
    }

    /// Ends an observation of this center object: the same as the token's ``ObservationToken/cancel()``. Of another one's tokens it leaves
    /// alone what they stand for, as Foundation's does.
    public func removeObserver(_ token: ObservationToken) {
        guard token.anchor?.observation.diagnostics === core.diagnostics else { return }
        token.cancel()
    }
}
