import Foundation
import harness

@testable import Tidings

/// What has arrived, and what must be true of it.
final class Tally: @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private let lock = NSLock()
    private var sum = 0
    private var missed = 0
    private var mayStillPost = 16
    private var isMissedWrong = false

    /// A closure that posts does so a few times only.
    var mayPost: Bool {
        lock.withLock {
            mayStillPost -= 1
            return mayStillPost >= 0
        }
    }

    func take(_ one: Int, _ other: Int) {
        lock.withLock { sum = sum &+ one &+ other }
    }

    func take(_ envelope: Center.Envelope) {
        let text = (envelope.poster.executable?.utf8.count ?? 0) + (envelope.subject?.utf8.count ?? 0)
        take(text, envelope.postedAt.timeIntervalSince1970 > 0 ? 1 : 0)
    }

    func take(_ notification: Center.Notification) {
        take(notification.envelope)
        take(notification.name.rawValue.utf8.count, notification.payload.bytes.count)
        // Text of a large payload takes longer than all else.
        if notification.payload.bytes.count < 512 { take(notification.payload.json.utf8.count, 0) }
    }

    func take(_ delivery: Center.RawDelivery) {
        switch delivery {
        case .notification(let notification): take(notification)
        case .missed(let count, _): miss(count)
        case .reopened, .centerEnded: break
        }
    }

    func note(_ diagnostic: Center.Diagnostic) {
        switch diagnostic {
        case .undecodable(let notification, _): take(notification.payload.bytes.count, 0)
        case .missed(let count, _): miss(count)
        default: break
        }
    }

    func miss(_ count: Int) {
        lock.withLock {
            isMissedWrong = isMissedWrong || count <= 0
            let (sum, isOver) = missed.addingReportingOverflow(count)
            missed = isOver ? .max : sum
        }
    }

    /// On the harness's thread, which says more when it fails.
    func check() {
        if lock.withLock({ isMissedWrong }) { harness_fail("a count of missed notifications is positive", 0) }
    }
}

/// Tasks run when the harness says so, on its thread.
final class ManualExecutor: TaskExecutor, @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private let lock = NSLock()
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        lock.withLock { jobs.append(job) }
    }

    func run() {
        while let job = lock.withLock({ jobs.isEmpty ? nil : jobs.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// A pass over a sequence, read by one task at a time.
final class Reader {
    private let next: @Sendable () async -> Bool
    private var task: Task<Void, Never>?
    private let state = State()

    /// Whether the task has ended.
    private final class State: @unchecked Sendable {
        // Sendable: touched by tasks on the manual executor only, and by the thread that runs these.
        var isReading = false
    }

    /// Sendable: used by one task at a time.
    private final class Box<I: AsyncIteratorProtocol>: @unchecked Sendable where I.Failure == Never {
        private var iterator: I

        init(_ iterator: I) { self.iterator = iterator }

        func next() async -> I.Element? {
            await iterator.next(isolation: nil)
        }
    }

    init<I: AsyncIteratorProtocol & SendableMetatype>(
        _ iterator: I, _ take: @escaping @Sendable (I.Element) -> Void
    ) where I.Failure == Never {
        let box = Box(iterator)
        next = {
            guard let element = await box.next() else { return false }
            take(element)
            return true
        }
    }

    /// Asks for so many elements; the task may still wait for some of them when this returns.
    func read(_ count: Int, on executor: ManualExecutor) {
        guard !state.isReading else { return }
        state.isReading = true
        let (next, state) = (next, state)
        task = Task(executorPreference: executor) {
            for _ in 0..<count {
                guard await next() else { break }
            }
            state.isReading = false
        }
    }

    func cancel() {
        task?.cancel()
    }
}
