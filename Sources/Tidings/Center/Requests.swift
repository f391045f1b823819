// Requests: serving a request type, and requesting.
extension SharedNotificationCenter {
    /// Serves a type of requests: a handler answers each request that this server receives.
    ///
    /// ```swift
    /// struct Render: SharedNotificationCenter.Request { typealias Reply = String; var page: Int }
    /// actor Renderer { func render(_ page: Int) -> String { "page \(page)" } }
    /// let renderer = Renderer()
    /// let center = try SharedNotificationCenter(named: "com.example.viewer")
    /// let server = try center.serve(Render.self) { request, envelope in await renderer.render(request.page) }
    /// server.cancel()
    /// ```
    ///
    /// Promise: the name is served when this call has returned. Any number of processes may serve one name, and a
    /// process any number of times; exactly one server receives each request. A free server receives requests in the
    /// order in which they were made, and runs up to ``ServerOptions/concurrency`` handlers at a time, each in a task.
    /// The task is cancelled when the caller cancels, times out, or dies, and when the server ends.
    ///
    /// If the handler throws the request's ``Request/Failure``, the caller catches the same. If it throws any other
    /// error, or the request does not decode, or the reply does not encode or is too large, then the caller catches
    /// `.serverFailed`, with the error's description. A handler may make requests; if it requests its own name, it
    /// waits for another handler to be free.
    ///
    /// The handler runs in its own isolation: on the actor that it is isolated to, otherwise on threads of the library,
    /// where it may block. The server has a thread, which sleeps. The servers and callers of a center object together
    /// take one participant entry of the center, beside its own.
    ///
    /// If the center ends and this object follows its name (``Configuration-swift.struct/followsName``), the server
    /// goes on in the next center (``Diagnostic/reopened(incarnation:)``). Otherwise the server ends, which is reported
    /// to ``onDiagnostic`` as ``Diagnostic/dispatchFailed(_:)``.
    ///
    /// Waits, as ``announce(role:will:timeout:)`` does, for a process that reports the death of another one.
    ///
    /// - Parameters:
    ///   - type: the request type; its ``Message/name`` is served.
    ///   - options: how many requests are handled at a time.
    ///   - handler: answers one request.
    /// - Returns: the server, which ends when it is released.
    /// - Throws: ``SharedNotificationError``: `.invalidName` (also for a name of more than 238 bytes),
    ///   `.invalidArgument` (a concurrency below 1), `.notPermitted` (the center was opened for reading alone),
    ///   `.tooManyObservers`, `.tooManyParticipants`, `.noSpace`, `.removed`, `.forked`, `.system` (no thread, or no
    ///   memory).
    public func serve<R: Request>(
        _ type: R.Type = R.self, options: ServerOptions = ServerOptions(),
        using handler: @escaping @Sendable (R, RequestEnvelope) async throws -> R.Reply
    ) throws(SharedNotificationError) -> Server {
        let diagnostics = core.diagnostics
        return try serve(R.name, options: options) { payload, envelope in
            let request: R
            do {
                request = try payload.message(R.self)
            } catch {
                diagnostics.countUndecodable()
                let facts = Envelope(poster: envelope.caller)
                let undecodable = Notification(name: R.name, payload: payload, envelope: facts)
                diagnostics.report(.undecodable(undecodable, error))
                return .failed("the request does not decode as \(R.self): \(error)")
            }
            do {
                return .reply(try R.payload(answering: try await handler(request, envelope)))
            } catch let failure as R.Failure {
                return (try? .failure(R.payload(answering: failure))) ?? .failed("\(failure)")
            } catch {
                return .failed("\(error)")
            }
        }
    }

    /// Serves a name, without types. For the command.
    package func serve(
        name: Name, options: ServerOptions,
        using handler: @escaping @Sendable (RawPayload, RequestEnvelope) async throws -> RawPayload
    ) throws(SharedNotificationError) -> Server {
        try serve(name, options: options) { payload, envelope in
            do { return .reply(try await handler(payload, envelope)) } catch { return .failed("\(error)") }
        }
    }

    private func serve(
        _ name: Name, options: ServerOptions, _ handler: @escaping RequestServer.Handler
    ) throws(SharedNotificationError) -> Server {
        try core.refuseIfForked("serve requests in")
        return Server(try RequestServer(name, concurrency: options.concurrency, in: core, handler))
    }

    /// A server, as ``serve(_:options:using:)`` returns it. It ends with ``cancel()``, or when this object is released.
    /// It does not depend on the center object that made it.
    public final class Server: Sendable {
        private let server: RequestServer

        fileprivate init(_ server: RequestServer) {
            self.server = server
        }

        /// Ends the server that ``serve(_:options:using:)`` has begun. Idempotent, from any thread.
        ///
        /// Promise: after this call has returned, the server receives no request, and the tasks of its handlers are
        /// cancelled. Callers of requests without a reply catch `.serverEnded`, unless the request is idempotent
        /// (``RequestOptions/isIdempotent``) and another server receives it.
        ///
        /// Waits for the server's thread, not for handlers. So do not call this while holding a lock that a handler's
        /// `onCancel` closure takes.
        public func cancel() {
            server.cancel()
        }

        /// Ends the server that ``serve(_:options:using:)`` has begun, as ``cancel()`` does, and returns when no
        /// handler is running. Inside a handler of this server it does not wait.
        public func cancelAndWait() async {
            await server.cancelAndWait()
        }

        /// Whether the server has ended, for any reason. In a forked child it has always ended.
        public var isCancelled: Bool { server.hasEnded }

        deinit {
            server.cancel()
        }
    }

    /// Makes a request, and waits for the reply of a server.
    ///
    /// ```swift
    /// struct Render: SharedNotificationCenter.Request { typealias Reply = String; var page: Int }
    /// let center = try SharedNotificationCenter(named: "com.example.viewer")
    /// do {
    ///     print(try await center.request(Render(page: 3), timeout: .seconds(2)))
    /// } catch let error as SharedNotificationError where error.code == .noServer {
    ///     print("start the renderer")
    /// }
    /// ```
    ///
    /// Promise: a request ends once. It ends with the reply, or with what the server threw, or at once with `.noServer`
    /// if no process serves its name, or with `.serverEnded` if its server ends or dies without a reply, or with
    /// `.timedOut`. The death of a server is reported within milliseconds, without polling. A stopped server is not
    /// dead. If this call ends in another way than with an answer, the server's task is cancelled.
    ///
    /// Blocks no thread of the program. One thread for each name waits for the replies; up to 16 of them are kept. A
    /// center has room for four requests for each of its slots, at most 16,384, of all callers together.
    ///
    /// If the center ends, requests that wait for a reply fail with `.removed`. If this object follows the center's
    /// name (``Configuration-swift.struct/followsName``), the next request is made in the next center.
    ///
    /// - Parameters:
    ///   - request: what to ask.
    ///   - timeout: how long to wait for the reply, exact to about a millisecond; `nil`: without end.
    ///   - options: whether the request may be carried out twice.
    /// - Returns: the server's reply.
    /// - Throws: the request's ``Request/Failure``, if the server threw it; `CancellationError` if the task is
    ///   cancelled; ``SharedNotificationError``: `.noServer`, `.timedOut`, `.serverEnded`, `.serverFailed` (the message
    ///   has the server's reason), `.decodingFailed` (the reply is of another type), `.encodingFailed`,
    ///   `.payloadTooLarge`, `.full` (all calls are in use, or a lossless observer of all names holds the request
    ///   back), `.noSpace`, `.invalidName`, `.notPermitted` (the center was opened for reading alone), `.removed`,
    ///   `.forked`, `.system`.
    public func request<R: Request>(
        _ request: R, timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> R.Reply {
        let payload: RawPayload
        do {
            payload = try RawPayload(inItsEncoding: request)
        } catch {
            throw SharedNotificationError(
                .encodingFailed,
                message: "can't request \"\(R.name)\" in center \"\(name)\": its encoder failed: \(error)",
                underlyingError: error)
        }
        let answer = try await callers.request(R.name, payload, timeout: timeout, options)
        switch answer.code {
        case ReplyCode.reply: return try decoded(R.Reply.self, answer.payload, of: R.self)
        case ReplyCode.failure where R.Failure.self != Never.self:
            throw try decoded(R.Failure.self, answer.payload, of: R.self)
        case let code: throw serverFailed(R.name, code, answer.payload)
        }
    }

    /// Makes a request of a name, without types. For the command.
    package func request(
        name: Name, payload: RawPayload, timeout: Duration?, options: RequestOptions
    ) async throws -> RawPayload {
        let answer = try await callers.request(name, payload, timeout: timeout, options)
        guard answer.code == ReplyCode.reply else { throw serverFailed(name, answer.code, answer.payload) }
        return answer.payload
    }

    private func decoded<R: Request, Value: Decodable>(
        _ type: Value.Type, _ payload: RawPayload, of request: R.Type
    ) throws(SharedNotificationError) -> Value {
        do {
            return try R.answer(type, in: payload)
        } catch {
            throw SharedNotificationError(
                .decodingFailed,
                message: "can't decode the reply to \"\(R.name)\" in center \"\(name)\" as \(type): \(error)",
                underlyingError: error)
        }
    }

    private func serverFailed(_ request: Name, _ code: UInt16, _ payload: RawPayload) -> SharedNotificationError {
        let text = payload.format == .text ? String(decoding: payload.bytes, as: UTF8.self) : payload.json
        let number = code == ReplyCode.failed || code == ReplyCode.failure ? "" : " with code \(code)"
        // The text is another process's: it is one line here, and no longer than a line that a person reads.
        let reason = text.prefix(utf8: 1000).split(whereSeparator: \.isNewline).joined(separator: " ")
        return SharedNotificationError(
            .serverFailed,
            message: "can't get a reply to \"\(request)\" in center \"\(name)\": its server failed\(number): \(reason)")
    }
}

extension ServerHandle.Reply {
    fileprivate typealias RawPayload = SharedNotificationCenter.RawPayload

    fileprivate static func reply(_ payload: RawPayload) -> Self { Self(code: ReplyCode.reply, payload: payload) }
    fileprivate static func failure(_ payload: RawPayload) -> Self { Self(code: ReplyCode.failure, payload: payload) }
    /// - Parameter why: of any length. At most 1,000 bytes are sent.
    fileprivate static func failed(_ why: String) -> Self {
        Self(code: ReplyCode.failed, payload: .text(why.prefix(utf8: 1000)))
    }
}
