/// Detects closures that keep a dispatcher thread too long. One for the whole process, with a thread from the first use
/// until there is no dispatcher left.
///
/// Before a dispatcher runs a closure, it asks to be watched, once. The watch then checks it every 50 ms, until no
/// closure ran in one interval, and forgets it. With no dispatcher to check, the watch sleeps without a timer. So a
/// closure costs nothing here while traffic lasts, and one wake-up of the watch after a pause.
final class HandlerWatch: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.
    private static let local = ForkLocal { HandlerWatch() }
    static var shared: HandlerWatch { local.object }

    /// How long a closure may keep the thread, running or blocked, while other observers wait, in nanoseconds. The
    /// effective time is at least this, and usually at most twice this.
    ///
    /// Time in which the thread only waits for a processor does not count (`ThreadTime`). So a busy machine makes no
    /// closure seem to hang, except one that waits for a lock whose holder has no processor.
    static let interval: UInt64 = 50_000_000
    /// The thread time that counts as a whole interval, in nanoseconds. Two checks are one interval apart, minus the
    /// time in which the thread waited for its processor.
    static let enough: UInt64 = interval / 10 * 9

    /// Whether the thread spent an interval in one closure: compares the check at the closure's begin with the current
    /// check. `nil`: there is no `/proc`, and the clock of the watch decides alone.
    static func hangs(since begun: ThreadTime?, now: ThreadTime?) -> Bool {
        guard let begun, let now else { return true }
        return now.spent(since: begun) >= enough
    }

    private let lock = Lock()
    private var watched = Watched<Dispatcher>()
    private var dispatchers = 0
    private var hasThread = false

    /// Call when a dispatcher begins that may ask to be watched.
    func begin() { lock.withLock { dispatchers += 1 } }

    /// Call when such a dispatcher has ended.
    func end() {
        lock.withLock {
            dispatchers -= 1
            if dispatchers == 0 { lock.wakeAll() }
        }
    }

    func watch(_ dispatcher: Dispatcher) {
        lock.withLock {
            watched.add(dispatcher)
            if !hasThread {
                // Without a thread, no closure is set aside; the next request tries again.
                hasThread = (try? WorkerThread { HandlerWatch.shared.run() })?.detach() != nil
            } else if watched.count == 1 {
                lock.wakeAll()
            }
        }
    }

    private func run() {
        while let dispatchers = next() {
            let resting = dispatchers.filter { !$0.look() }
            lock.withLock { watched.forget(resting) }
        }
    }

    /// The dispatchers to check, after the interval; `nil`: there is no dispatcher left, and the thread ends.
    private func next() -> [Dispatcher]? {
        lock.withLock {
            while watched.isEmpty {
                if dispatchers == 0 {
                    hasThread = false
                    return nil
                }
                lock.wait()
            }
            let deadline = Lock.now + Self.interval
            while dispatchers > 0, lock.wait(until: deadline) {}
            return watched.all
        }
    }
}

/// The objects that the watch checks, as a value type.
struct Watched<Element: AnyObject> {
    private(set) var all: [Element] = []

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }

    mutating func add(_ element: Element) { all.append(element) }

    /// Removes each of these once. An element that was added again after its check is in the list twice, and must stay.
    mutating func forget(_ resting: [Element]) {
        for element in resting {
            if let index = all.firstIndex(where: { $0 === element }) { all.remove(at: index) }
        }
    }
}
