import Glibc
import Synchronization

/// Held while a process starts and while the ends of a pipe are not yet closed on exec: otherwise the process could
/// keep them open. (Swift sees no `pipe2`.)
private let starting = Mutex(())

/// A process that this process started.
package struct ChildProcess: Sendable {
    package let pid: pid_t

    package enum Ending: Equatable, Sendable, CustomStringConvertible {
        case exited(Int32)
        case killed(signal: Int32)

        package var description: String {
            switch self {
            case .exited(let status): "ended with status \(status)"
            case .killed(let signal): "was killed by signal \(signal)"
            }
        }
    }

    /// A line about the attempted action and the operating system's error.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        init(_ what: String, errno code: Int32) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Starts an executable with default signal handling and an empty signal mask, whatever this process has set.
    ///
    /// - Parameters:
    ///   - arguments: the arguments, without the name of the executable.
    ///   - environment: variables added to this process's environment.
    ///   - input: the standard input; `nil`: this process's.
    ///   - output: the standard output; `nil`: this process's.
    ///   - errors: the standard error; `nil`: this process's.
    ///   - keepsOthers: whether it inherits the other descriptors of this process that are not closed on exec.
    ///   - inOwnGroup: whether it leads a process group of its own, for `sendToGroup`.
    package static func start(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:], input: Int32? = nil,
        output: Int32? = nil, errors: Int32? = nil, keepsOthers: Bool = true, inOwnGroup: Bool = false
    ) throws -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input { posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) }
        if let output { posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
        if let errors { posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO) }
        if !keepsOthers {
            for descriptor in openDescriptors() { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let group = inOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))

        var pid: pid_t = 0
        let result = withCStrings([executable] + arguments) { arguments in
            withCStrings(merged(environment)) { environment in
                starting.withLock { _ in
                    posix_spawn(&pid, executable, &actions, &attributes, arguments, environment)
                }
            }
        }
        guard result == 0 else { throw Failure("can't start \(executable)", errno: result) }
        return ChildProcess(pid: pid)
    }

    package func send(_ signal: Int32) {
        kill(pid, signal)
    }

    /// Sends a signal to the process and its children, if it leads a group.
    package func sendToGroup(_ signal: Int32) {
        kill(-pid, signal)
    }

    /// Waits until the process has ended. No other process has its pid before ``waitUntilEnded()``.
    package func waitKeepingPid() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// Waits until the process has ended. Call it only once: afterwards another process may have the pid.
    package func waitUntilEnded() -> Ending {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return Self.ending(status)
    }

    /// Returns how the process ended; `nil` if it is running. Do not call it again after it has returned a value.
    package func ending() -> Ending? {
        var status: Int32 = 0
        return waitpid(pid, &status, WNOHANG) == pid ? Self.ending(status) : nil
    }

    /// Stops the process, and returns when it has stopped.
    package func stop() throws {
        send(SIGSTOP)
        var status: Int32 = 0
        while waitpid(pid, &status, WUNTRACED) < 0, errno == EINTR {}
        // The low byte is 0x7f for a stopped process only.
        guard status & 0xFF == 0x7F else {
            throw Failure("can't stop process \(pid), which \(Self.ending(status))", errno: ESRCH)
        }
    }

    private static func ending(_ status: Int32) -> Ending {
        status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: status & 0x7F)
    }

    /// The descriptors of this process without the standard ones.
    private static func openDescriptors() -> [Int32] {
        guard let directory = opendir("/proc/self/fd") else { return [] }
        defer { closedir(directory) }
        var result: [Int32] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let descriptor = Int32(name), descriptor > STDERR_FILENO { result.append(descriptor) }
        }
        return result
    }

    private static func merged(_ additions: [String: String]) -> [String] {
        var result: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let line = String(cString: text)
            if !additions.keys.contains(where: { line.hasPrefix($0 + "=") }) { result.append(line) }
            entry += 1
        }
        return result + additions.map { "\($0)=\($1)" }
    }
}

/// A pipe that a child inherits only as its standard input or output.
package struct PipeEnds: Sendable {
    package let reading: Int32
    package let writing: Int32

    package init() throws {
        var ends: [Int32] = [0, 0]
        try starting.withLock { _ in
            guard pipe(&ends) == 0 else { throw ChildProcess.Failure("can't make a pipe", errno: errno) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        }
        (reading, writing) = (ends[0], ends[1])
    }
}

/// Passes a NULL-terminated array of C strings that is valid during the call.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let copies = strings.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeBufferPointer { body($0.baseAddress!) }
}
