import Glibc

/// A thread of the library's own.
struct WorkerThread: Equatable, Sendable {
    private let thread: pthread_t

    /// Starts a thread that runs `body` and ends.
    ///
    /// Signals stay with the program's threads, as with Dispatch's workers; only those that a fault of the thread itself raises
    /// are not blocked, so that crash reports work.
    init(_ body: @escaping @Sendable () -> Void) throws(SharedNotificationError) {
        final class Body {
            let run: @Sendable () -> Void
            init(_ run: @escaping @Sendable () -> Void) { self.run = run }
        }
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPROF] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let argument = Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                // Nothing in this frame may outlive the call: the thread's end is what a joiner waits for.
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, argument.toOpaque())
        guard result == 0 else {
            argument.release()
            throw SharedNotificationError(
                .system(result),
                message: "can't start a thread to dispatch notifications: \(String(cString: strerror(result)))")
        }
        self.thread = thread
    }

    private init(_ thread: pthread_t) {
        self.thread = thread
    }

    /// The calling thread, whoever made it.
    static var current: WorkerThread { WorkerThread(pthread_self()) }

    func join() {
        pthread_join(thread, nil)
    }

    func detach() {
        pthread_detach(thread)
    }
}
