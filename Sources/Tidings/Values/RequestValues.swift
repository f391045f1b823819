// The values that go with requests: how to make them, how to serve them, and what a server learns of them.

extension SharedNotificationCenter {
    /// How a request is made, besides its timeout.
    ///
    /// ```swift
    /// struct Volume: SharedNotificationCenter.Request { typealias Reply = Double }
    /// let center = try SharedNotificationCenter.default
    /// let volume = try await center.request(Volume(), timeout: .seconds(2), options: .init(idempotent: true))
    /// ```
    public struct RequestOptions: Hashable, Sendable {
        /// Whether the request may be carried out twice. If its server ends without a reply, another server of the name
        /// receives it, and ``RequestEnvelope/isRepeated`` is true there. Otherwise the request then fails with
        /// `.serverEnded`.
        public var isIdempotent: Bool

        /// Creates options. Every argument may be left out.
        public init(idempotent: Bool = false) { isIdempotent = idempotent }
    }

    /// How requests are served.
    ///
    /// ```swift
    /// struct Render: SharedNotificationCenter.Request { typealias Reply = String; var page: Int }
    /// let center = try SharedNotificationCenter.default
    /// let server = try center.serve(Render.self, options: .init(concurrency: 1)) { request, _ in "\(request.page)" }
    /// ```
    public struct ServerOptions: Hashable, Sendable {
        /// How many requests the server handles at a time, at least 1. Further requests stay for other servers of the
        /// name, or until a handler has returned. `nil`: as many as the machine has active processors.
        public var concurrency: Int?

        /// Creates options. Every argument may be left out.
        public init(concurrency: Int? = nil) { self.concurrency = concurrency }
    }

    /// The facts about a request besides its payload.
    ///
    /// ```swift
    /// struct Render: SharedNotificationCenter.Request { typealias Reply = String; var page: Int }
    /// let center = try SharedNotificationCenter.default
    /// let server = try center.serve(Render.self) { request, envelope in
    ///     "page \(request.page) for process \(envelope.caller.pid)\(envelope.isRepeated ? ", again" : "")"
    /// }
    /// ```
    public struct RequestEnvelope: Hashable, Sendable {
        /// The process that made the request.
        public var caller: Poster
        /// Whether another server has ended with this request, and may have carried it out
        /// (``RequestOptions/isIdempotent``).
        public var isRepeated: Bool
        /// As ``RequestOptions/isIdempotent``. For the relay.
        package var isIdempotent = false
        /// The caller is a caller of this center object. For the relay.
        package var isOwn = false

        /// Creates an envelope, for tests of handlers.
        public init(caller: Poster = Poster(), isRepeated: Bool = false) {
            self.caller = caller
            self.isRepeated = isRepeated
        }
    }
}
