internal import Dispatch
internal import Glibc

/// Reports once that a socket can be read, or that its other end is closed. Takes no thread while it waits.
final class SocketWatch: @unchecked Sendable {
    // Sendable: the source never changes, and Dispatch's functions may be called from any thread.
    private let source: any DispatchSourceRead

    /// - Parameter queue: where `handler` is called.
    init(_ socket: Int32, _ queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) {
        // A descriptor of its own, which outlives the source. The socket itself stays open for its owner.
        let watched = dup(socket)
        let source = DispatchSource.makeReadSource(fileDescriptor: watched, queue: queue)
        // The source holds its handlers until it is cancelled.
        source.setEventHandler {
            source.cancel()
            handler()
        }
        source.setCancelHandler { close(watched) }
        source.activate()
        self.source = source
    }

    func cancel() {
        source.cancel()
    }
}
