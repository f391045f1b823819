// Threads of the library: start, join, detach and identity.
import Glibc

/// A thread that the library starts itself.
struct WorkerThread: Hashable, Sendable {
    private let thread: pthread_t

    /// The system could not start a thread, for the reason that this error number says.
    struct NotStarted: Error {
        let errno: Int32
    }

    /// Starts a thread that runs `body` and ends.
    ///
    /// The thread blocks the program's signals, so that these reach the program's threads, as with Dispatch's workers.
    /// Signals that a fault of the thread itself raises are not blocked, so that crash reports work.
    init(_ body: @escaping @Sendable () -> Void) throws(NotStarted) {
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
                // This frame must release the body before the thread ends, because a joiner waits for the thread's end
                // only.
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, argument.toOpaque())
        guard result == 0 else {
            argument.release()
            throw NotStarted(errno: result)
        }
        self.thread = thread
    }

    private init(_ thread: pthread_t) { self.thread = thread }

    /// The calling thread, even if the library did not start it.
    static var current: WorkerThread { WorkerThread(pthread_self()) }

    /// The calling thread's id in the kernel. `nil`: there is no `/proc`.
    static var currentNumber: Int32? {
        // The link's text is "12/task/12".
        var buffer = [CChar](repeating: 0, count: 64)
        guard readlink("/proc/thread-self", &buffer, buffer.count - 1) > 0 else { return nil }
        let parts = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
            separator: "/")
        return parts.count == 3 ? Int32(parts[2]) : nil
    }

    /// Whether the calling thread runs the program's `main`.
    static var isMain: Bool {
        // glibc's `gettid` is not visible to Swift, and a process may have no `/proc`. The number of a thread's clock
        // is the inverted thread id and three bits for the kind of clock (`CPUCLOCK_PID` in the kernel).
        var clock = clockid_t()
        return pthread_getcpuclockid(pthread_self(), &clock) == 0 && ~(clock >> 3) == getpid()
    }

    func join() { pthread_join(thread, nil) }

    func detach() { pthread_detach(thread) }
}
