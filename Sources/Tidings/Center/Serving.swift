// What the module TidingsService builds on.
extension SharedNotificationCenter {
    /// An element of ``serviceDeliveries(of:options:bufferSize:)``.
    package enum ServiceDelivery<Value: Sendable>: Sendable {
        /// With the nanoseconds since this process's dispatcher took it.
        case message(Value, Envelope, waited: UInt64)
        /// The center has ended, and the object follows its name: the next elements come from another one.
        case reopened
        /// The last element.
        case ended(SharedNotificationError)
    }

    /// The messages of a type. Losses and payloads that do not decode are reported as for a closure: to the options'
    /// `onMissed` and `onUndecodable`, in the iterator's context, or to ``onDiagnostic``.
    package func serviceDeliveries<M: Message>(
        of type: M.Type, options: ObserverOptions, bufferSize: Int
    ) -> ObservedSequence<ServiceDelivery<M>> {
        let reading = Reading(type, onUndecodable: options.onUndecodable, in: core)
        let onMissed = options.onMissed ?? { [core] in core.diagnostics.report(.missed($0, $1)) }
        var subscription = options.subscription(to: [M.name])
        subscription.isTimed = true
        return ObservedSequence(
            core: core, subscription: subscription, bounds: .sequence(bufferSize, .newest)
        ) { item in
            switch item {
            case .arrival(let arrival):
                let waited = Lock.now - arrival.takenAt
                return reading.message(arrival).map { .message($0, arrival.envelope, waited: waited) }
            case .missed(let count, let name):
                onMissed(count, name)
                return nil
            case .reopened: return .reopened
            case .ended(let error): return .ended(error)
            }
        }
    }

    /// The retained value of a name, and the position of its post.
    package func retained(_ name: Name) throws(SharedNotificationError) -> (payload: RawPayload, sequence: UInt64)? {
        try posting.rawState(name: name)
    }

    /// Reports what a client of the library could not do, as the library does.
    package func report(_ diagnostic: Diagnostic) {
        if case .undecodable = diagnostic { core.diagnostics.countUndecodable() }
        core.diagnostics.report(diagnostic)
    }

    /// Whether the center has ended, or this process's object belongs to its parent. Asks the kernel.
    package var hasEnded: Bool { core.isForked || core.handle.hasEnded }

    /// Counts the posts of some names, of all processes, at no cost for posters: it never sleeps on the center, and
    /// what it was too slow for is counted as well.
    package final class PostCounter: Sendable {
        private let observer: PollableObserver

        fileprivate init(_ observer: PollableObserver) {
            self.observer = observer
        }

        /// The posts since the last call. Never waits.
        package func count() throws(SharedNotificationError) -> [Name: Int] {
            var counts: [Name: Int] = [:]
            // Bounded: posters may be as fast as this loop. The next call counts the others.
            for _ in 0..<PostCounter.most {
                switch try observer.next() {
                case .notification(let notification)?:
                    if !notification.envelope.isRetained { counts[notification.name, default: 0].add(1) }
                case .missed(let count, let name?)?: counts[name, default: 0].add(count)
                case .missed?, .reopened?, .centerEnded?: break
                case nil: return counts
                }
            }
            return counts
        }

        private static let most = 100_000
    }

    /// - Parameter names: at least one.
    package func postCounter(of names: [Name]) throws(SharedNotificationError) -> PostCounter {
        let subscription = ObserverOptions().subscription(to: Names(names))
        return PostCounter(try PollableObserver(subscription, in: core, hasDescriptor: false))
    }
}
