internal import Dispatch

/// Where asynchronous closures run: not on the cooperative pool, so that a closure that blocks takes nothing from the program's tasks,
/// and a thread of the pool that waits in `cancel()` takes nothing from the closure.
///
/// Jobs go to serial queues that have nothing to do, of which there are as many as were ever needed at a time. Serial, because Dispatch gives
/// such a queue a thread whatever else is blocked; a concurrent one would share the pool's few.
final class ObserverExecutor: TaskExecutor {
    private static let local = ForkLocal { ObserverExecutor() }
    static var shared: ObserverExecutor { local.object }

    private let idle = Locked<[DispatchQueue]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let queue = idle.withLock { $0.popLast() } ?? DispatchQueue(label: "tidings.observers")
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.idle.withLock { $0.append(queue) }
        }
    }
}
