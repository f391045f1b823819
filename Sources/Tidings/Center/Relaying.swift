import Glibc

// What the module TidingsRelay builds on.
extension SharedNotificationCenter {
    /// What becomes of a request that is passed on.
    package enum RelayedAnswer: Hashable, Sendable {
        /// A part of the reply. Another answer follows when the caller wants it.
        case part(code: UInt16, RawPayload)
        case reply(code: UInt16, RawPayload)
        /// A server may have received the request, and there is no reply.
        case serverEnded
        /// No server has received the request.
        case noServer

        /// - Parameter why: at most 1,000 bytes of it are sent.
        package static func failed(_ why: String) -> Self {
            .reply(code: ReplyCode.failed, .text(why.prefix(utf8: 1000)))
        }
    }

    /// The same center as another participant: its servers are not those of this object. It does not follow the name.
    package func another() throws(SharedNotificationError) -> SharedNotificationCenter {
        SharedNotificationCenter(core: CenterCore(name: name, handle: try core.link.handle.another()))
    }

    /// The request names that are served now, other than by servers of this object.
    package func servedElsewhere() throws(SharedNotificationError) -> [String] {
        try core.link.requests.handle(beside: core.link.handle).servedElsewhere()
    }

    /// Serves a name by passing each request on. The handler writes parts, and returns the last answer.
    package func serveRelayed(
        name: Name, concurrency: Int,
        by handler:
            @escaping @Sendable (
                RawPayload, RequestEnvelope, @escaping @Sendable (RawPayload) async throws -> Void
            ) async -> RelayedAnswer
    ) throws(SharedNotificationError) -> Server {
        try serve(name, options: .init(concurrency: concurrency)) { payload, envelope, parts in
            switch await handler(payload, envelope, { try await parts.send($0) }) {
            case .part(let code, let payload), .reply(let code, let payload): .init(code: code, payload: payload)
            case .serverEnded: .init(code: ReplyCode.failed, payload: .empty, error: -ECONNRESET)
            case .noServer: .init(code: ReplyCode.failed, payload: .empty, error: -ECONNREFUSED)
            }
        }
    }

    /// A request that came from elsewhere.
    package final class RelayedRequest: Sendable {
        private let center: SharedNotificationCenter
        private let name: Name
        private let open = Locked<Callers.Open?>(nil)

        package init(_ center: SharedNotificationCenter, _ name: Name) {
            self.center = center
            self.name = name
        }

        /// Makes the request, and waits for the first answer. If the task is cancelled, so is the request.
        ///
        /// - Throws: `CancellationError`.
        package func begin(_ payload: RawPayload, isIdempotent: Bool) async throws -> RelayedAnswer {
            try await answer {
                let (reply, request) = try await center.callers.request(
                    name, payload, timeout: nil, .init(idempotent: isIdempotent))
                open.withLock { $0 = request }
                return reply
            }
        }

        /// After a part: waits for the next answer.
        package func next() async throws -> RelayedAnswer {
            guard let request = open.withLock({ $0 }) else { return .serverEnded }
            return try await answer { try await center.callers.next(of: request, timeout: nil) }
        }

        private func answer(_ wait: () async throws -> CallerHandle.Reply) async throws -> RelayedAnswer {
            do {
                let reply = try await wait()
                return reply.isPart ? .part(code: reply.code, reply.payload) : .reply(code: reply.code, reply.payload)
            } catch let error as SharedNotificationError {
                switch error.code {
                case .noServer: return .noServer
                case .serverEnded, .removed: return .serverEnded
                default: return .failed(error.message)
                }
            }
        }

        deinit { open.withLock { $0 }?.cancel() }
    }
}
