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
        try answer(type, options) { request, envelope, _ in
            .reply(try R.payload(answering: try await handler(request, envelope)))
        }
    }

    /// Serves a type of requests by several replies to each: the handler writes one after the other.
    ///
    /// ```swift
    /// struct Search: SharedNotificationCenter.Request { typealias Reply = String; var text: String }
    /// let center = try SharedNotificationCenter(named: "com.example.viewer")
    /// let server = try center.serve(Search.self) { search, envelope, writer in
    ///     for page in 1...3 { try await writer.write("\(search.text) on page \(page)") }
    /// }
    /// ```
    ///
    /// A caller receives the replies by ``replies(to:timeout:options:)``, in the order in which they were written. They
    /// end when the handler returns, or throws. Back-pressure: `write` waits until the caller has asked for that reply.
    /// So a caller that asks for no reply, but does not stop, keeps one of ``ServerOptions/concurrency`` handlers. If
    /// the caller stops, the task is cancelled, and `write` throws `CancellationError`.
    ///
    /// After the first reply no other server receives the request, also if it is idempotent. If this server dies then,
    /// the caller catches `.serverEnded`, and a reply that the caller has not received may be lost.
    ///
    /// All else is as for ``serve(_:options:using:)``.
    ///
    /// - Throws: as ``serve(_:options:using:)``.
    public func serve<R: Request>(
        _ type: R.Type = R.self, options: ServerOptions = ServerOptions(),
        writing handler: @escaping @Sendable (R, RequestEnvelope, ReplyWriter<R.Reply>) async throws -> Void
    ) throws(SharedNotificationError) -> Server {
        try answer(type, options) { request, envelope, parts in
            try await handler(
                request, envelope, ReplyWriter { try await parts.send(R.payload(answering: $0)) })
            return .end
        }
    }

    private func answer<R: Request>(
        _ type: R.Type, _ options: ServerOptions,
        by handler: @escaping @Sendable (R, RequestEnvelope, ReplyParts) async throws -> ServerHandle.Reply
    ) throws(SharedNotificationError) -> Server {
        let diagnostics = core.diagnostics
        return try serve(R.name, options: options) { payload, envelope, parts in
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
                return try await handler(request, envelope, parts)
            } catch let failure as R.Failure {
                return (try? .failure(R.payload(answering: failure))) ?? .failed("\(failure)")
            } catch {
                return .failed("\(error)")
            }
        }
    }

    /// Serves a name, without types. For the command. The handler writes replies and returns the last one, or `nil`.
    package func serve(
        name: Name, options: ServerOptions,
        using handler:
            @escaping @Sendable (RawPayload, RequestEnvelope, ReplyWriter<RawPayload>) async throws ->
            RawPayload?
    ) throws(SharedNotificationError) -> Server {
        try serve(name, options: options) { payload, envelope, parts in
            do {
                let reply = try await handler(payload, envelope, ReplyWriter { try await parts.send($0) })
                return reply.map { .reply($0) } ?? .end
            } catch {
                return .failed("\(error)")
            }
        }
    }

    func serve(
        _ name: Name, options: ServerOptions, _ handler: @escaping RequestServer.Handler
    ) throws(SharedNotificationError) -> Server {
        try core.refuseIfForked("serve requests in")
        return Server(try RequestServer(name, concurrency: options.concurrency, in: core, handler))
    }

    /// A server, as ``serve(_:options:using:)`` returns it. It ends with ``cancel()``, or when this object is released.
    /// It does not depend on the center object that made it.
    public final class Server: Sendable {
        private let server: RequestServer

        fileprivate init(_ server: RequestServer) { self.server = server }

        /// Ends the server that ``serve(_:options:using:)`` has begun. Idempotent, from any thread.
        ///
        /// Promise: after this call has returned, the server receives no request, and the tasks of its handlers are
        /// cancelled. Callers of requests without a reply catch `.serverEnded`, unless the request is idempotent
        /// (``RequestOptions/isIdempotent``) and another server receives it.
        ///
        /// Waits for the server's thread, not for handlers. So do not call this while holding a lock that a handler's
        /// `onCancel` closure takes.
        public func cancel() { server.cancel() }

        /// Ends the server that ``serve(_:options:using:)`` has begun, as ``cancel()`` does, and returns when no
        /// handler is running. Inside a handler of this server it does not wait.
        public func cancelAndWait() async { await server.cancelAndWait() }

        /// Whether the server has ended, for any reason. In a forked child it has always ended.
        public var isCancelled: Bool { server.hasEnded }

        /// Held: new requests stay for other servers. Returns how many handlers run. For the relay.
        @discardableResult
        package func hold(_ isHeld: Bool) -> Int { server.hold(isHeld) }

        deinit { server.cancel() }
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
        let reply = try await oneReply(to: R.name, try encoded(request), timeout, options)
        return try decodedReply(reply, of: R.self)
    }

    /// Makes a request, and receives the replies of a server that sends any number of them.
    ///
    /// ```swift
    /// struct Search: SharedNotificationCenter.Request { typealias Reply = String; var text: String }
    /// let center = try SharedNotificationCenter(named: "com.example.viewer")
    /// for try await line in center.replies(to: Search(text: "blue"), timeout: .seconds(2)) { print(line) }
    /// ```
    ///
    /// The request is made when the iteration asks for the first reply. Each iteration makes one of its own. Promise:
    /// the replies arrive in order, none twice. The iteration ends after the last one, or throws what
    /// ``request(_:timeout:options:)`` throws. The server sends the next reply when the iteration has asked for it. So
    /// a slow consumer slows the server, and nothing queues. After an error, the iteration returns `nil`.
    ///
    /// The server's task is cancelled when the iterator is released, as by `break`, or when the iteration waits and its
    /// task is cancelled. The reply of a server that answers with one is a sequence of one.
    ///
    /// - Parameters:
    ///   - request: what to ask.
    ///   - timeout: how long to wait for each reply, from when the iteration asks for it; `nil`: without end.
    ///   - options: whether the request may be carried out twice, if its server ends before its first reply.
    /// - Returns: the replies.
    public func replies<R: Request>(
        to request: R, timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) -> some AsyncSequence<R.Reply, any Error> & Sendable {
        Replies {
            self.repliesOnce(to: R.name, timeout, options) {
                try self.encoded(request)
            } decode: {
                try self.decodedReply($0, of: R.self)
            }
        }
    }

    private func encoded<R: Request>(_ request: R) throws(SharedNotificationError) -> RawPayload {
        do {
            return try RawPayload(inItsEncoding: request)
        } catch {
            throw SharedNotificationError(
                .encodingFailed,
                message: "can't request \"\(R.name)\" in center \"\(name)\": its encoder failed: \(error)",
                underlyingError: error)
        }
    }

    private func decodedReply<R: Request>(_ reply: CallerHandle.Reply, of request: R.Type) throws -> R.Reply {
        switch reply.code {
        case ReplyCode.reply: return try decoded(R.Reply.self, reply.payload, of: R.self)
        case ReplyCode.failure where R.Failure.self != Never.self:
            throw try decoded(R.Failure.self, reply.payload, of: R.self)
        case let code: throw serverFailed(R.name, code, reply.payload)
        }
    }

    private func oneReply(
        to request: Name, _ payload: RawPayload, _ timeout: Duration?, _ options: RequestOptions
    ) async throws -> CallerHandle.Reply {
        let (reply, open) = try await callers.request(request, payload, timeout: timeout, options)
        guard reply.isPart || reply.code == ReplyCode.end else { return reply }
        open.cancel()
        throw SharedNotificationError(
            .decodingFailed,
            message: """
                can't get one reply to "\(request)" in center "\(name)": its server sends any number of them; receive \
                them by replies(to:)
                """)
    }

    /// One iteration: an error or the last reply is its end.
    private func repliesOnce<Reply>(
        to request: Name, _ timeout: Duration?, _ options: RequestOptions,
        _ encode: @escaping () throws -> RawPayload, decode: @escaping (CallerHandle.Reply) throws -> Reply
    ) -> Replies<Reply>.Source {
        let open = OpenRequest()
        return {
            guard !open.isOver else { return nil }
            do {
                let reply: CallerHandle.Reply
                if let request = open.request {
                    reply = try await self.callers.next(of: request, timeout: timeout)
                } else {
                    (reply, open.request) = try await self.callers.request(request, encode(), timeout: timeout, options)
                }
                let decoded = reply.code == ReplyCode.end ? nil : try decode(reply)
                if !reply.isPart || decoded == nil { open.end() }
                return decoded
            } catch {
                open.end()
                throw error
            }
        }
    }

    /// Makes a request of a name, without types. For the command.
    package func request(
        name: Name, payload: RawPayload, timeout: Duration?, options: RequestOptions
    ) async throws -> RawPayload {
        try rawReply(try await oneReply(to: name, payload, timeout, options), of: name)
    }

    /// The replies to a request of a name, without types. For the command.
    package func replies(
        name: Name, payload: RawPayload, timeout: Duration?, options: RequestOptions
    ) -> some AsyncSequence<RawPayload, any Error> & Sendable {
        Replies {
            self.repliesOnce(to: name, timeout, options) {
                payload
            } decode: {
                try self.rawReply($0, of: name)
            }
        }
    }

    private func rawReply(_ reply: CallerHandle.Reply, of request: Name) throws(SharedNotificationError) -> RawPayload {
        guard reply.code == ReplyCode.reply else { throw serverFailed(request, reply.code, reply.payload) }
        return reply.payload
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

    fileprivate static let end = Self(code: ReplyCode.end, payload: .empty)
    fileprivate static func reply(_ payload: RawPayload) -> Self { Self(code: ReplyCode.reply, payload: payload) }
    fileprivate static func failure(_ payload: RawPayload) -> Self { Self(code: ReplyCode.failure, payload: payload) }
    /// - Parameter why: of any length. At most 1,000 bytes are sent.
    fileprivate static func failed(_ why: String) -> Self {
        Self(code: ReplyCode.failed, payload: .text(why.prefix(utf8: 1000)))
    }
}
