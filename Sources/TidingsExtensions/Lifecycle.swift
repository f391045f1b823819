public import Tidings

extension Extension {
    /// What happens to an extension, as ``Lifecycle`` delivers it.
    ///
    /// ```swift
    /// func line(_ event: Extension.Event) -> String {
    ///     switch event {
    ///     case .ready(let pid): "process \(pid) is ready"
    ///     case .exited(let status): "exited with status \(status)"
    ///     case .crashed(let signal): "ended by signal \(signal)"
    ///     case .failed(let error): error.message
    ///     case .refused(let grant, let count): "has no grant: \(grant), \(count) times"
    ///     default: "\(event)"
    ///     }
    /// }
    /// ```
    public enum Event: Hashable, Sendable {
        /// A process is being started.
        case launching
        /// The process has reported that it is ready: it observes and serves what it wants to. The ID is that of the
        /// started process, which may be a wrapper script.
        case ready(pid: Int32)
        /// The process exited. Before this event, the host has forwarded what the process posted. It takes a second or
        /// two for that at most, and drops the rest if the broadcast center has no room so long.
        case exited(status: Int32)
        /// A signal ended the process: its own fault, another process, a resource limit, or this host. The host's
        /// reason is a ``failed(_:)`` before this event. If the launcher process is killed, all extensions of the
        /// host end by SIGKILL.
        case crashed(signal: Int32)
        /// A start failed, or the host ends the process for this reason. ``exited(status:)`` or ``crashed(signal:)``
        /// follows if there is a process.
        case failed(ExtensionError)
        /// The next ``launching`` follows after this pause.
        case restarting(after: Duration)
        /// The limit of the ``RestartPolicy`` is reached. No further start follows.
        case gaveUp
        /// The extension posted a notification or made a request without this grant, which was not forwarded or served:
        /// so many times since the process was started.
        ///
        /// Reported for the counts 1, 2, 4, 8 and so on, so a flood of posts causes few events. Sixteen grants are
        /// counted separately, and all further ones together.
        case refused(Grant, count: Int)
        /// The host could not forward a notification of this name, which the extension has a grant to post: it is too
        /// large for the broadcast center, or that center had no room for a second. Counted and reported as
        /// ``refused(_:count:)``.
        case notForwarded(SharedNotificationCenter.Name, SharedNotificationError, count: Int)
        /// A request of this name did not decode as the type that the host serves, and its caller has been told. Or a
        /// process of the extension has invented a notice of presence (`tidings.presence`). Counted and reported as
        /// ``refused(_:count:)``; `onDiagnostic` of the broadcast center receives the errors of those reported.
        case undecodable(SharedNotificationCenter.Name, count: Int)
        /// So many events were dropped here, because the iterator was not asked for them: 64 wait at most.
        case missed(Int)

        /// Whether it says what state the extension is in.
        fileprivate var isState: Bool {
            switch self {
            case .refused, .notForwarded, .undecodable, .missed: false
            default: true
            }
        }
    }

    /// The events of an extension, from its present state on, as ``Extension/lifecycle`` returns it.
    ///
    /// ```swift
    /// func report(_ one: Extension) async {
    ///     for await event in one.lifecycle { print(one.name, event) }
    /// }
    /// ```
    ///
    /// Each iterator first yields the latest event before it was made, except those with a count. Then it yields each
    /// later event, in order. The sequence ends after the last event of an extension that is not started again, or if
    /// the iterating task is cancelled.
    public struct Lifecycle: AsyncSequence, Sendable {
        let feed: LifecycleFeed

        /// Begins to collect events.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: feed.reader()) }

        /// One iteration of a ``Lifecycle``. Copies share the events: each event goes to one copy.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            let reader: LifecycleReader

            /// The next event, as soon as there is one; `nil` at the end.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
                while true {
                    if let event = reader.take() { return event }
                    // Ends when the feed does, or the task is cancelled: then no event waits that is not taken here.
                    var wakes = reader.wakes.makeAsyncIterator()
                    if await wakes.next(isolation: actor) == nil { return Task.isCancelled ? nil : reader.take() }
                }
            }
        }
    }
}

/// Passes the events of one extension to its readers.
final class LifecycleFeed: Sendable {
    private struct State: Sendable {
        var latest: Extension.Event?
        var isOver = false
        var readers: [WeakReader] = []
    }

    private struct WeakReader: Sendable {
        weak var reader: LifecycleReader?
    }

    private let state = Locked(State())

    func emit(_ event: Extension.Event) {
        state.withLock { state in
            if event.isState { state.latest = event }
            state.readers.removeAll { $0.reader == nil }
            for each in state.readers { each.reader?.add(event) }
        }
    }

    func end() {
        state.withLock { state in
            state.isOver = true
            for each in state.readers { each.reader?.end() }
            state.readers = []
        }
    }

    func reader() -> LifecycleReader {
        let reader = LifecycleReader()
        state.withLock { state in
            // Also here: many readers may come and go between two events.
            state.readers.removeAll { $0.reader == nil }
            if let latest = state.latest { reader.add(latest) }
            if state.isOver { reader.end() } else { state.readers.append(WeakReader(reader: reader)) }
        }
        return reader
    }
}

/// The events that wait for one iterator.
final class LifecycleReader: Sendable {
    /// 64: more than an extension causes in a second, unless it is hostile.
    private static let most = 64

    private let waiting = Locked<(events: [Extension.Event], missed: Int)>(([], 0))
    /// An element for events that have been added. One is enough for any number of events.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init() {
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ event: Extension.Event) {
        waiting.withLock { waiting in
            if waiting.events.count == Self.most {
                waiting.events.removeFirst()
                waiting.missed += 1
            }
            waiting.events.append(event)
        }
        wake.yield()
    }

    func take() -> Extension.Event? {
        waiting.withLock { waiting in
            if waiting.missed > 0 {
                defer { waiting.missed = 0 }
                return .missed(waiting.missed)
            }
            return waiting.events.isEmpty ? nil : waiting.events.removeFirst()
        }
    }

    func end() {
        wake.finish()
    }
}
