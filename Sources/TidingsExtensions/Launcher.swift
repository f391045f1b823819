// The launcher process, through its C functions. Everything here except `next()` is called on the host's queues,
// because it may wait.
internal import CTidingsExtensions
internal import Dispatch
internal import Glibc

/// How a process ended.
enum Ending: Hashable, Sendable {
    case exited(Int32)
    case crashed(Int32)

    var event: Extension.Event {
        switch self {
        case .exited(let status): .exited(status: status)
        case .crashed(let signal): .crashed(signal: signal)
        }
    }
}

/// A started process, as its launcher numbers it.
struct ExtensionProcess: Sendable {
    let launcher: Launcher
    let id: UInt64
    let pid: Int32
}

/// The open launcher process: the parent of all extension processes of a host.
final class Launcher: @unchecked Sendable {
    // Sendable: the pointer never changes, and the C functions may be called from any thread. `close()` is called when
    // the thread that calls `next()` has left it, on the queue of starts, after the last signal.
    private let launcher: OpaquePointer
    private let left = DispatchSemaphore(value: 0)

    enum Next {
        case ended(id: UInt64, Ending)
        case interrupted
        /// The launcher process has ended, and all extension processes with it.
        case over
    }

    init() throws(ExtensionError) {
        var opened: OpaquePointer?
        let result = tidings_launcher_open(&opened)
        guard result == 0, let opened else {
            throw ExtensionError(errno: -result, message: "can't start the process that launches extensions")
        }
        launcher = opened
    }

    func close() {
        tidings_launcher_close(launcher)
    }

    func next() -> Next {
        var event = tidings_launch_event()
        switch -tidings_launcher_next(launcher, -1, &event) {
        case 0: return .ended(id: event.id, event.signaled ? .crashed(event.code) : .exited(event.code))
        case EINTR, ETIMEDOUT: return .interrupted
        default: return .over
        }
    }

    /// The thread that called `next()` does not call it again.
    func leave() {
        left.signal()
    }

    func waitUntilLeft() {
        left.wait()
    }

    func interrupt() {
        tidings_launcher_interrupt(launcher)
    }

    func signal(_ id: UInt64, _ signal: Int32) {
        // Fails if the process has ended, which its exit reports.
        _ = tidings_launcher_signal(launcher, id, signal)
    }

    func kill(_ id: UInt64) {
        // As above.
        _ = tidings_launcher_kill(launcher, id)
    }

    /// Starts the process with that descriptor as its standard input. Returns when it executes its program.
    func start(_ specification: LaunchSpecification, input: Int32) throws(ExtensionError)
        -> ExtensionProcess
    {
        var (id, pid): (UInt64, Int32) = (0, 0)
        var failure = tidings_launch_failure()
        let arguments = CStrings([specification.executable] + specification.arguments)
        let environment = specification.environment.map { CStrings($0.map { "\($0.key)=\($0.value)" }) }
        let folders = CStrings((specification.sandbox?.readable ?? []) + (specification.sandbox?.writable ?? []))
        let directory = specification.directory.map { CStrings([$0]) }
        let result = withExtendedLifetime((arguments, environment, folders, directory)) {
            let readable = specification.sandbox?.readable.count ?? 0
            let paths = folders.texts.dropLast().enumerated().map {
                tidings_launch_path(path: $0.element, writable: $0.offset >= readable)
            }
            return paths.withUnsafeBufferPointer { paths in
                var launch = tidings_launch()
                launch.executable = arguments.texts[0]
                launch.arguments = arguments.pointer
                launch.environment = environment?.pointer
                launch.directory = directory?.texts[0]
                launch.input = input
                launch.memory = UInt64(specification.limits.memory ?? 0)
                launch.cpu_seconds = specification.limits.cpuTime.map(Self.seconds) ?? 0
                launch.open_files = UInt32(clamping: specification.limits.openFiles ?? 0)
                launch.sandbox = specification.sandbox != nil
                launch.no_network = specification.sandbox?.network == false
                launch.paths = paths.baseAddress
                launch.path_count = UInt32(paths.count)
                return tidings_launcher_start(launcher, &launch, &id, &pid, &failure)
            }
        }
        guard result == 0 else {
            let step = failure.step.map { String(cString: $0) } ?? "start"
            let path = failure.path.map { String(cString: $0) } ?? specification.executable
            throw ExtensionError(
                errno: -result, message: "can't \(step) \"\(path)\" for extension \"\(specification.name)\"")
        }
        return ExtensionProcess(launcher: self, id: id, pid: pid)
    }

    /// Whole seconds, rounded up.
    private static func seconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.bounded.components
        return UInt64(max(1, seconds + (attoseconds > 0 ? 1 : 0)))
    }
}

extension ExtensionError {
    /// An error of the operating system. The message gets the reason, and what to do.
    init(errno: Int32, message: String) {
        let (code, advice): (Code, String) =
            switch errno {
            case ENOENT, ENOTDIR: (.notFound, "; see that the path is right")
            case EACCES, ENOEXEC: (.notPermitted, "; see that it is a file that this process may execute")
            case EUSERS: (.system(errno), "; stop some extensions, or open another host")
            case EPERM: (.notPermitted, "; ask for less, or run the host with more rights")
            case ENOSYS, EOPNOTSUPP: (.notSupported, "; this kernel cannot enforce it, so leave it out")
            case EINVAL: (.invalidArgument, "")
            case EMFILE, ENFILE: (.system(errno), "; raise the limit of open files (ulimit -n)")
            case EAGAIN, ENOMEM: (.system(errno), "; stop some extensions, or give the host more processes and memory")
            case E2BIG: (.system(errno), "; pass fewer arguments, environment variables, grants or paths")
            case EPIPE: (.system(errno), "; the launcher process was killed, so try again")
            case ETIMEDOUT: (.system(errno), "; the launcher process or the file system does not answer, so try again")
            default: (.system(errno), "")
            }
        self.init(code, message: "\(message): \(String(cString: strerror(errno)))\(advice)")
    }
}

/// Whether a path exists.
func isReachable(_ path: String) -> Bool { access(path, F_OK) == 0 }

/// Copies of texts for C, with a closing NULL.
final class CStrings {
    let pointer: UnsafePointer<UnsafePointer<CChar>?>
    let texts: [UnsafePointer<CChar>?]

    init(_ strings: [String]) {
        texts = strings.map { UnsafePointer(strdup($0)) } + [nil]
        let pointers = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(capacity: texts.count)
        pointers.initialize(from: texts, count: texts.count)
        pointer = UnsafePointer(pointers)
    }

    deinit {
        for text in texts { free(UnsafeMutableRawPointer(mutating: text)) }
        pointer.deallocate()
    }
}
