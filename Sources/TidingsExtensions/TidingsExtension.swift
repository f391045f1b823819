internal import Dispatch
internal import Glibc
public import Tidings

/// A program that an ``ExtensionHost`` starts. Its type is marked with `@main`.
///
/// ```swift
/// struct Render: SharedNotificationCenter.Request { typealias Reply = String; var page: Int }
/// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
///
/// struct Lyrics: TidingsExtension {
///     func run(_ host: HostConnection) async throws {
///         let server = try host.serve(Render.self) { request, _ in "page \(request.page)" }
///         let changes = try host.broadcast.messages(of: TrackChanged.self).register()
///         try host.ready()
///         for await change in changes { print(change.title) }
///         server.cancel()
///     }
/// }
/// ```
///
/// `@main` starts ``main()``, which needs no configuration: the host sends all that is needed over standard input.
/// Messages are only declared once, in a module that host and extension share.
///
/// The process ends when ``run(_:)`` has returned (status 0) or thrown (one line on standard error, and status 1). The
/// task of `run` is cancelled by SIGTERM, which ``Extension/stop(timeout:)`` sends, and when the host ends. After the
/// end of the host, a process that is still running two seconds later exits; usually the launcher has killed it before.
public protocol TidingsExtension: SendableMetatype {
    /// Creates the program. ``main()`` calls it once.
    init()

    /// What is posted if this process dies; `nil`, the default: nothing.
    ///
    /// ```swift
    /// struct LyricsDied: SharedNotificationCenter.Message {}
    /// struct Lyrics: TidingsExtension {
    ///     var will: SharedNotificationCenter.Will? { .init(LyricsDied()) }
    ///     func run(_ host: HostConnection) async throws { try host.ready() }
    /// }
    /// ```
    ///
    /// ``main()`` leaves it in the private center (`SharedNotificationCenter.announce(role:will:timeout:)`), before
    /// ``run(_:)``. The host posts it into the broadcast center, after all that the process has posted. That needs a
    /// grant for its name (``Grant/posts(_:)``), and takes up to a second after the end. An exit is no death.
    var will: SharedNotificationCenter.Will? { get }

    /// The program's work, as ``TidingsExtension`` shows. It observes and serves first, and then calls
    /// ``HostConnection/ready()``.
    ///
    /// - Throws: any error, which ends the process with status 1. A `CancellationError` after the cancellation of the
    ///   task ends it with status 0.
    func run(_ host: HostConnection) async throws
}

extension TidingsExtension {
    /// None: ``will`` shows one.
    public var will: SharedNotificationCenter.Will? { nil }

    /// Connects to the host, and runs the program (``TidingsExtension``). Does not return.
    ///
    /// A program that was not started by a host ends with a line on standard error and status 1.
    public static func main() async {
        let (end, termination) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let (program, host, terminated): (Self, HostConnection, SocketWatch)
        do throws(ExtensionError) {
            // First: SIGTERM would end the process as a death, and the host would post its last will.
            terminated = try Termination.watch { termination.continuation.yield() }
            program = Self()
            // Receiving waits for the host.
            host = try await DispatchQueue.global().result { [will = program.will] () throws(ExtensionError) in
                try HostConnection(socket: try HandShake.takeInput(), will: will) { end.continuation.yield() }
            }
        } catch { fail(error) }
        let running = Task { try await program.run(host) }
        Task { for await _ in termination.stream { running.cancel() } }
        Task {
            for await _ in end.stream { break }
            running.cancel()
            try? await Task.sleep(for: .seconds(2))
            _exit(1)
        }
        do { try await running.value } catch {
            if !(error is CancellationError && running.isCancelled) { fail(error) }
        }
        withExtendedLifetime((host, terminated)) { exit(0) }
    }

    private static func fail(_ error: any Error) -> Never {
        let line = Array("\(CommandLine.arguments.first ?? "extension"): \(error)\n".utf8)
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(1)
    }
}

/// SIGTERM as an event.
///
/// By a handler that writes into a pipe: an ignored or blocked signal would stay so in programs that the extension
/// runs.
private enum Termination {
    /// Both ends of a pipe. Closed in programs that the extension runs.
    private static let ends: (read: Int32, write: Int32) = {
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        return (ends[0], ends[1])
    }()

    static func watch(_ terminated: @escaping @Sendable () -> Void) throws(ExtensionError) -> SocketWatch {
        // The first access, before the handler: it makes the pipe.
        let watch = try SocketWatch(ends.read, terminated)
        signal(SIGTERM) { _ in
            let before = errno
            _ = write(Termination.ends.write, "", 1)
            errno = before
        }
        return watch
    }
}
