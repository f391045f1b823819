// What is posted in a center: counts by name and by process.
internal import CTidings
import Glibc
public import Tidings

extension SharedNotificationCenter {
    /// What a ``TrafficCounter`` has counted since it was asked last. For an example see there.
    public struct Traffic: Hashable, Sendable {
        /// The notifications with one name and one subject. For an example see ``TrafficCounter``.
        public struct NameCount: Hashable, Sendable {
            /// Their name.
            public var name: Name
            /// Their subject; `nil`: they have none.
            public var subject: String?
            /// How many.
            public var notifications: UInt64
            /// The bytes of their payloads together.
            public var bytes: UInt64

            package init(name: Name, subject: String? = nil, notifications: UInt64, bytes: UInt64) {
                (self.name, self.subject, self.notifications, self.bytes) = (name, subject, notifications, bytes)
            }
        }

        /// The notifications of one process. For an example see ``TrafficCounter``.
        public struct PosterCount: Hashable, Sendable {
            /// The process, in its own pid namespace, as it states it.
            public var pid: Int32
            /// The user it runs as, as it states it.
            public var uid: UInt32
            /// How many.
            public var notifications: UInt64
            /// The bytes of their payloads together.
            public var bytes: UInt64

            package init(pid: Int32, uid: UInt32, notifications: UInt64, bytes: UInt64) {
                (self.pid, self.uid, self.notifications, self.bytes) = (pid, uid, notifications, bytes)
            }
        }

        /// Notifications that were counted.
        public var notifications: UInt64 = 0
        /// The bytes of their payloads.
        public var bytes: UInt64 = 0
        /// Notifications that left the ring before they were counted. Nothing else is known of them.
        public var missed: UInt64 = 0
        /// The counts of each name and subject, in no order. At most ``TrafficCounter/limit``: further ones are only in
        /// the sums above.
        public var names: [NameCount] = []
        /// The counts of each process, in no order; with the same limit.
        public var posters: [PosterCount] = []

        package init() {}
    }

    /// Counts what is posted in a center, by name and by process, without reading the payloads.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// let counter = try SharedNotificationCenter.TrafficCounter(of: .default)
    /// try counter.count()
    /// for one in counter.take().names { print("\(one.notifications) of \(one.name), \(one.bytes) bytes") }
    /// ```
    ///
    /// Promise:
    /// - the counter is one observer of all names, from its creation on. It never sleeps in the center, so no poster
    ///   wakes it; and it never holds a poster back. It misses what leaves the ring between two calls of
    ///   ``count(atMost:)``, and counts how many that were;
    /// - its memory is bounded, whatever is posted.
    ///
    /// Uses an observer slot of the center until it is released. In a center opened read-only, it works if the center
    /// admits readers. Any thread may use it; the calls run one at a time.
    public final class TrafficCounter: @unchecked Sendable {
        // Sendable: the observer and the counts are used only with the lock held; the rest never changes.

        /// The most pairs of name and subject, and the most processes, that are counted on their own.
        public static let limit = 4096

        private let keeper: any AnyObject & Sendable
        private let observer: OpaquePointer
        private let state = Locked(State())

        /// Begins to count. For an example see ``TrafficCounter``.
        ///
        /// - Parameter center: the center. The counter keeps it open.
        /// - Throws: ``SharedNotificationError``: `.tooManyObservers`, `.removed`; `.notPermitted` if the center was
        ///   opened read-only and admits no readers; `.forked` in a forked child.
        public init(of center: SharedNotificationCenter) throws(SharedNotificationError) {
            let open = center.openCenter
            var opened: OpaquePointer?
            var result = tidings_observer_open(open.center, UInt32(TIDINGS_OBSERVE_BARE), &opened)
            guard result == 0, let opened else {
                throw SharedNotificationError(errno: -result, users: .tooManyObservers)
            }
            var subscription: UInt32 = 0
            result = tidings_observer_add(opened, nil, 0, nil, 0, 0, &subscription)
            guard result == 0 else {
                // The line of the error is read before the next call of the library.
                let error = SharedNotificationError(errno: -result)
                tidings_observer_close(opened)
                throw error
            }
            observer = opened
            keeper = open.keeper
        }

        deinit {
            tidings_observer_close(observer)
        }

        /// Counts the notifications that the ring has and that were not counted yet. Never waits for a post. For an
        /// example see ``TrafficCounter``.
        ///
        /// - Parameter most: ends after this number, so that the call ends also if peers post faster than it counts.
        /// - Returns: how many notifications were counted. Less than `most`: all that there were.
        /// - Throws: ``SharedNotificationError``: `.removed` when the center has ended, after all its notifications
        ///   were counted; `.forked` in a forked child; `.system(EBADF)` as
        ///   ``SharedNotificationCenter/PollableObserver/next()``.
        @discardableResult
        public func count(atMost most: Int = 65_536) throws(SharedNotificationError) -> Int {
            try state.withLock { (state: inout State) throws(SharedNotificationError) -> Int in
                var delivery = tidings_delivery()
                var taken = 0
                while taken < most {
                    let result = tidings_next(observer, 0, &delivery)
                    switch -result {
                    case 0:
                        if state.add(delivery) { taken += 1 }
                    case EAGAIN: return taken
                    case ENOMEM, ETIMEDOUT, EINTR: continue
                    case let code: throw SharedNotificationError(errno: code)
                    }
                }
                return taken
            }
        }

        /// What was counted since the last call of this function, and begins anew. For an example see
        /// ``TrafficCounter``.
        public func take() -> Traffic {
            state.withLock { (state: inout State) in state.take() }
        }
    }
}

/// The counts. Texts are compared as bytes, and made strings only by `take`.
private struct State: Sendable {
    private struct Entry: Sendable {
        /// The name, a zero byte, and the subject.
        let text: [UInt8]
        var notifications: UInt64 = 0
        var bytes: UInt64 = 0
    }

    private struct Poster: Hashable, Sendable {
        var pid: Int32
        var uid: UInt32
    }

    private var total = SharedNotificationCenter.Traffic()
    private var entries: [Entry] = []
    /// From a hash of the text to the indexes of the entries with that hash. The seed keeps a peer from choosing names
    /// of one hash.
    private var places: [UInt64: [Int]] = [:]
    private let seed = UInt64.random(in: 0 ... .max)
    private var posters: [Poster: (notifications: UInt64, bytes: UInt64)] = [:]

    /// - Returns: whether it is a notification, and not a loss.
    mutating func add(_ delivery: tidings_delivery) -> Bool {
        if delivery.kind == TIDINGS_DELIVERY_MISSED {
            // Sums of what a peer may have written: they wrap around rather than end the process.
            total.missed &+= delivery.missed
            return false
        }
        let size = UInt64(delivery.size)
        total.notifications &+= 1
        total.bytes &+= size
        if let index = place(of: delivery) {
            entries[index].notifications &+= 1
            entries[index].bytes &+= size
        }
        let poster = Poster(pid: delivery.pid, uid: delivery.uid)
        if var count = posters[poster] {
            count.notifications &+= 1
            count.bytes &+= size
            posters[poster] = count
        } else if posters.count < SharedNotificationCenter.TrafficCounter.limit {
            posters[poster] = (1, size)
        }
        return true
    }

    /// The index of the entry of that name and subject; `nil`: there is no room for another one.
    private mutating func place(of delivery: tidings_delivery) -> Int? {
        let name = UnsafeRawBufferPointer(start: delivery.name, count: delivery.name_length)
        let subject = UnsafeRawBufferPointer(start: delivery.subject, count: delivery.subject_length)
        var hash = seed
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ 0x100) &* 0x100_0000_01b3
        for byte in subject { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for index in places[hash] ?? [] {
            let isSame = entries[index].text.withUnsafeBytes { text in
                text.count == name.count + 1 + subject.count && text.prefix(name.count).elementsEqual(name)
                    && text[name.count] == 0
                    && text.dropFirst(name.count + 1).elementsEqual(subject)
            }
            if isSame { return index }
        }
        guard entries.count < SharedNotificationCenter.TrafficCounter.limit else { return nil }
        places[hash, default: []].append(entries.count)
        entries.append(Entry(text: Array(name) + [0] + Array(subject)))
        return entries.count - 1
    }

    mutating func take() -> SharedNotificationCenter.Traffic {
        var result = total
        result.names = entries.filter { $0.notifications > 0 }.map { entry in
            let parts = entry.text.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
            let subject = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
            return .init(
                name: .init(String(decoding: parts[0], as: UTF8.self)), subject: subject.isEmpty ? nil : subject,
                notifications: entry.notifications, bytes: entry.bytes)
        }
        result.posters = posters.map {
            .init(
                pid: $0.key.pid, uid: $0.key.uid, notifications: $0.value.notifications, bytes: $0.value.bytes)
        }
        // Names that are still posted are added again: so names that are not posted any more take no room.
        (total, posters) = (.init(), [:])
        entries.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        return result
    }
}
