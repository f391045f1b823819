// Several replies to one request: the writer that a server's handler uses, and the sequence that a caller iterates.

extension SharedNotificationCenter {
    /// Writes the replies to one request, for a handler of ``serve(_:options:writing:)``.
    ///
    /// A unit test of such a handler passes a writer of its own:
    ///
    /// ```swift
    /// let writer = SharedNotificationCenter.ReplyWriter<String> { print("a reply: \($0)") }
    /// try await writer.write("blue")
    /// ```
    public struct ReplyWriter<Reply>: Sendable {
        private let body: @Sendable (Reply) async throws -> Void

        /// Creates a writer that calls the closure for each reply.
        public init(_ body: @escaping @Sendable (Reply) async throws -> Void) { self.body = body }

        /// Sends a reply. Waits until the caller has asked for it, without a thread. Tasks that the handler has started
        /// may write, too, in any order, until the handler returns.
        ///
        /// - Throws: `CancellationError` if the caller does not wait for replies any more, the server has ended, or the
        ///   handler has returned; the encoder's error; ``SharedNotificationError``: `.payloadTooLarge`, `.noSpace`,
        ///   `.full`, `.removed`, `.system`. A reply that could not be sent is left out: the handler may write another
        ///   one, for instance a shorter one.
        public func write(_ reply: Reply) async throws { try await body(reply) }
    }
}

/// The replies to a request. Each iteration makes one of its own.
struct Replies<Reply>: AsyncSequence, Sendable {
    /// Waits for the next reply. `nil`: the last one was received.
    typealias Source = () async throws -> Reply?

    let begin: @Sendable () -> Source

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(begin: begin) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let begin: @Sendable () -> Source
        var source: Source?

        mutating func next() async throws -> Reply? {
            let source = self.source ?? begin()
            self.source = source
            return try await source()
        }
    }
}

/// The request of one iteration. It ends when the iterator is released.
final class OpenRequest {
    var request: Callers.Open?
    private(set) var isOver = false

    /// Ends the iteration, and its request, unless that has ended.
    func end() {
        isOver = true
        request?.cancel()
        request = nil
    }

    deinit { request?.cancel() }
}
