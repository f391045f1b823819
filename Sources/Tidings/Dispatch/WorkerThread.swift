import Glibc

/// A thread of the library's own.
struct WorkerThread: Hashable, Sendable {
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

    /// The calling thread's number, by which the kernel knows it. `nil`: there is no `/proc`.
    static var currentNumber: Int32? {
        currentNumbers?.thread
    }

    /// The calling thread runs the program's `main`.
    static var isMain: Bool {
        currentNumbers.map { $0.process == $0.thread } ?? false
    }

    // "12/task/12": glibc has no name for it, and its gettid is out of Swift's sight.
    private static var currentNumbers: (process: Int32, thread: Int32)? {
        var buffer = [CChar](repeating: 0, count: 64)
        guard readlink("/proc/thread-self", &buffer, buffer.count - 1) > 0 else { return nil }
        let parts = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
            separator: "/")
        guard parts.count == 3, let process = Int32(parts[0]), let thread = Int32(parts[2]) else { return nil }
        return (process, thread)
    }

    func join() {
        pthread_join(thread, nil)
    }

    func detach() {
        pthread_detach(thread)
    }
}
