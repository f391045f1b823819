#if Service
    internal import ServiceLifecycle
    public import Tidings

    extension SharedNotificationCenter.ObservedSequence {
        /// This sequence, which ends when its task is to shut down gracefully.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// func watch(_ center: SharedNotificationCenter) async {
        ///     let changes = center.messages(of: TrackChanged.self)
        ///     for await change in changes.endOnGracefulShutdown() { print(change.title) }
        /// }
        /// ```
        ///
        /// Promise: the loop receives everything that was posted before the shutdown was triggered, and then ends.
        /// Losses are as without a shutdown. `cancelOnGracefulShutdown()` of ServiceLifecycle ends the loop at once,
        /// and drops what waits for it.
        ///
        /// Outside of a `ServiceGroup` no shutdown is triggered, and the sequence is as without this call.
        public func endOnGracefulShutdown() -> SharedNotificationCenter.EndingSequence<Element> {
            SharedNotificationCenter.EndingSequence { self.makeAsyncIterator() }
        }
    }

    extension SharedNotificationCenter.ObservedSequence.Iterator {
        /// This iteration, which ends when its task is to shut down gracefully.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// func watch(_ center: SharedNotificationCenter) async throws {
        ///     let changes = try center.messages(of: TrackChanged.self).register()        // observes from here on
        ///     for await change in changes.endOnGracefulShutdown() { print(change.title) }
        /// }
        /// ```
        ///
        /// Promise: as ``SharedNotificationCenter/ObservedSequence/endOnGracefulShutdown()``.
        public func endOnGracefulShutdown() -> SharedNotificationCenter.EndingSequence<Element> {
            SharedNotificationCenter.EndingSequence { self }
        }
    }

    extension SharedNotificationCenter {
        /// A sequence that ends on a graceful shutdown, as
        /// ``SharedNotificationCenter/ObservedSequence/endOnGracefulShutdown()`` promises and shows.
        public struct EndingSequence<Element: Sendable>: AsyncSequence, Sendable {
            let begin: @Sendable () -> ObservedSequence<Element>.Iterator

            /// Starts to observe, as `makeAsyncIterator()` of the observed sequence does.
            public func makeAsyncIterator() -> Iterator { Iterator(base: begin()) }

            /// One iteration, as ``SharedNotificationCenter/ObservedSequence/endOnGracefulShutdown()`` shows.
            public struct Iterator: AsyncIteratorProtocol, Sendable {
                let base: ObservedSequence<Element>.Iterator

                /// The next element. `nil`: the iteration has ended, because of a shutdown or for another reason.
                public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
                    // Copies share the elements. The handler may run at once, on this thread, or later on another one.
                    let base = base
                    return await withGracefulShutdownHandler(isolation: actor) {
                        var one = base
                        return await one.next(isolation: actor)
                    } onGracefulShutdown: {
                        #if MUTANT_SERVICE_SHUTDOWN_IGNORED  // Found by: service aSequenceEndsAfterWhatWasPosted hangs
                            if isMutant("SERVICE_SHUTDOWN_IGNORED") { return }
                        #endif
                        base.finish()
                    }
                }
            }
        }
    }
#endif
