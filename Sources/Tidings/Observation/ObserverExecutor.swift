internal import Dispatch

/// The executor of asynchronous closures. It does not use the cooperative pool. Therefore a closure that blocks takes
/// no thread from the program's tasks, and a pool thread that waits in `cancel()` takes none from the closure.
///
/// Jobs go to idle serial queues. There are as many queues as were needed at one time. They are serial because Dispatch
/// gives a serial queue a thread even if other threads are blocked. A concurrent queue would share the few threads of
/// Dispatch's pool.
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
