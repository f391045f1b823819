/// Notices closures that keep a dispatcher thread too long. One for the whole process, with a thread from the first need until
/// no dispatcher is left.
///
/// A dispatcher asks to be watched before it runs a closure, once; from then on the watch looks at it every 50 ms, until in one interval
/// no closure was run. Then it forgets the dispatcher, and with none left to look at it sleeps without a timer. So a closure costs
/// nothing here while traffic lasts, and one wake-up of the watch after a pause.
final class HandlerWatch: @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private static let local = ForkLocal { HandlerWatch() }
    static var shared: HandlerWatch { local.object }

    /// How long a closure may keep the thread, running or blocked, beside other observers: at least once this, usually at most twice, in
    /// nanoseconds. Time in which the thread only waits for a processor does not count (`ThreadTime`), so a busy machine makes no closure look
    /// hung, but for one that waits for a lock of a thread that has no processor.
    static let interval: UInt64 = 50_000_000
    /// What counts as an interval: two looks are as far apart, but for what the thread waited for its processor meanwhile.
    static let enough: UInt64 = interval / 10 * 9

    /// Whether the thread spent an interval in one closure, by the looks at its begin and now. `nil`: there is no `/proc`,
    /// and the clock by which the watch looks decides alone.
    static func hangs(since begun: ThreadTime?, now: ThreadTime?) -> Bool {
        guard let begun, let now else { return true }
        return now.spent(since: begun) >= enough
    }

    private let lock = Lock()
    private var watched = Watched<Dispatcher>()
    private var dispatchers = 0
    private var hasThread = false

    /// A dispatcher that may ask to be watched has begun.
    func begin() {
        lock.withLock { dispatchers += 1 }
    }

    /// It has ended.
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
                // Without a thread nobody is set aside; the next to ask tries again.
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

    /// Those to look at, after the interval; `nil`: nobody is left, the thread ends.
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

/// What the watch looks at, as a value.
struct Watched<Element: AnyObject> {
    private(set) var all: [Element] = []

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }

    mutating func add(_ element: Element) {
        all.append(element)
    }

    /// Forgets each of these once. One that asked anew after the watch had looked at it is there twice, and has to stay.
    mutating func forget(_ resting: [Element]) {
        for element in resting {
            if let index = all.firstIndex(where: { $0 === element }) { all.remove(at: index) }
        }
    }
}
