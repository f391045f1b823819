internal import Dispatch
internal import Glibc

/// Reports once that a socket can be read, or that its other end is closed. Takes no thread while it waits. Ends when
/// it is released.
final class SocketWatch: @unchecked Sendable {
    // Sendable: the source never changes, and Dispatch's functions may be called from any thread.
    private let source: any DispatchSourceRead

    /// - Parameter handler: must not wait.
    init(_ socket: Int32, _ handler: @escaping @Sendable () -> Void) throws(ExtensionError) {
        // A descriptor of its own, which outlives the source. The socket itself stays open for its owner.
        let watched = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard watched >= 0 else {
            throw ExtensionError(errno: errno, message: "can't watch a socket of an extension and its host")
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: watched, queue: .global())
        // The source holds its handlers until it is cancelled.
        source.setEventHandler {
            source.cancel()
            handler()
        }
        source.setCancelHandler { close(watched) }
        source.activate()
        self.source = source
    }

    deinit {
        source.cancel()
    }
}
