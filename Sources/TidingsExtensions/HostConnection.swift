internal import CTidingsExtensions
internal import Glibc
public import Tidings

/// An extension's connection to its host. ``TidingsExtension`` receives it, and shows it.
public final class HostConnection: Sendable {
    /// The private center of host and extension: it holds the launch's configuration as retained values
    /// (``LaunchSpecification/configuration``), and receives what the host posts with ``Extension/post(_:options:)``.
    ///
    /// The host refuses what is posted here without a grant; ``post(_:options:)`` checks that first.
    public let center: SharedNotificationCenter
    /// What the host allows.
    public let grants: [Grant]
    private let received: SharedNotificationCenter?
    private let announcement: SharedNotificationCenter.Announcement
    private let socket: Int32
    private let isReady = Locked(false)
    private let watch: SocketWatch

    /// The broadcast center, to observe. Posting into it throws `.notPermitted`.
    ///
    /// - Throws: ``ExtensionError``: `.notGranted` if the extension has no grant to observe (``Grant/observes(_:)``).
    public var broadcast: SharedNotificationCenter {
        get throws(ExtensionError) {
            if let received { return received }
            throw ExtensionError(
                .notGranted,
                message: "can't observe the broadcast center: the launch has no grant to observe; add .observes")
        }
    }

    /// Receives the centers over standard input. Waits for the host.
    ///
    /// - Parameters:
    ///   - will: the last will of the process.
    ///   - ended: called when the host has ended.
    init(socket: Int32, will: SharedNotificationCenter.Will?, ended: @escaping @Sendable () -> Void)
        throws(ExtensionError)
    {
        self.socket = socket
        let (grants, hasBroadcast) = try HandShake.receive(over: socket)
        self.grants = grants
        do throws(SharedNotificationError) {
            // The host is trusted with the memory of its centers.
            center = try SharedNotificationCenter(receivedOver: socket, maximumSize: .max)
            received = hasBroadcast ? try SharedNotificationCenter(receivedOver: socket, maximumSize: .max) : nil
            let role = will == nil ? TIDINGS_HANDSHAKE_ROLE : Relay.roleWithWill
            announcement = try center.announce(role: role, will: will)
        } catch {
            throw ExtensionError(
                .center, message: "can't use a center of the host: \(error.message)", underlyingError: error)
        }
        // The host sends nothing after the centers, so what can be read is the end.
        watch = try SocketWatch(socket, ended)
    }

    /// Tells the host that the extension observes and serves all that it wants to: ``ExtensionHost/launch(_:)`` returns
    /// then. Idempotent. An extension that does not call it is killed (``LaunchSpecification/readyTimeout``).
    ///
    /// - Throws: ``ExtensionError``: `.stopped` if the host has ended.
    public func ready() throws(ExtensionError) {
        let isFirst = isReady.withLock { isReady in
            defer { isReady = true }
            return !isReady
        }
        if isFirst { try HandShake.sendAnswer(over: socket) }
    }

    // MARK: Messages

    /// Posts a message to the host, which posts it into the broadcast center.
    ///
    /// Promise: if the call succeeds, the host receives the message, unless it ends before. It forwards messages in the
    /// order in which they were posted. There, the host is the poster; the message has the same subject and is not
    /// retained. If the host is more than 1,024 messages behind, the call throws `.full`, or waits for the options'
    /// timeout first; a task calls `waitingForRoom` of ``center`` around it instead.
    ///
    /// - Throws: ``ExtensionError`` `.notGranted` without a grant (``Grant/posts(_:)``): nothing is posted under the
    ///   name, and the host counts the refusal.
    ///   `SharedNotificationError`, as `SharedNotificationCenter.post(_:options:)`.
    public func post<M: SharedNotificationCenter.Message>(
        _ message: M, options: SharedNotificationCenter.PostOptions = SharedNotificationCenter.PostOptions()
    ) throws {
        try require(.posts, M.name, "post \"\(M.name)\" to the host")
        try center.post(message, options: options)
    }

    /// Posts a name, without a payload or with bytes that are already encoded: as ``post(_:options:)``.
    ///
    /// - Throws: as ``post(_:options:)``.
    public func post(
        name: SharedNotificationCenter.Name, payload: SharedNotificationCenter.RawPayload = .empty,
        options: SharedNotificationCenter.PostOptions = SharedNotificationCenter.PostOptions()
    ) throws {
        try require(.posts, name, "post \"\(name)\" to the host")
        try center.post(name: name, payload: payload, options: options)
    }

    /// Makes a request to the host: as `SharedNotificationCenter.request(_:timeout:options:)`.
    ///
    /// ```swift
    /// struct Lookup: SharedNotificationCenter.Request { typealias Reply = String; var word: String }
    /// struct Speller: TidingsExtension {
    ///     func run(_ host: HostConnection) async throws {
    ///         try host.ready()
    ///         print(try await host.request(Lookup(word: "tidings"), timeout: .seconds(2)))
    ///     }
    /// }
    /// ```
    ///
    /// - Throws: ``ExtensionError`` `.notGranted` without a grant (``Grant/requests(_:)``): the host refuses the
    ///   request. Otherwise as that function: `.noServer` if the host does not serve the name
    ///   (``ExtensionHost/serve(_:using:)``).
    public func request<R: SharedNotificationCenter.Request>(
        _ request: R, timeout: Duration? = nil,
        options: SharedNotificationCenter.RequestOptions = SharedNotificationCenter.RequestOptions()
    ) async throws -> R.Reply {
        try require(.requests, R.name, "request \"\(R.name)\" from the host")
        return try await center.request(request, timeout: timeout, options: options)
    }

    /// Serves requests of the host: as `SharedNotificationCenter.serve(_:options:using:)`. ``TidingsExtension`` has an
    /// example.
    ///
    /// - Throws: ``ExtensionError`` `.notGranted` without a grant (``Grant/serves(_:)``). Otherwise as that function.
    public func serve<R: SharedNotificationCenter.Request>(
        _ type: R.Type = R.self,
        options: SharedNotificationCenter.ServerOptions = SharedNotificationCenter.ServerOptions(),
        using handler: @escaping @Sendable (R, SharedNotificationCenter.RequestEnvelope) async throws -> R.Reply
    ) throws -> SharedNotificationCenter.Server {
        try grants.require(.serves, R.name, "serve \"\(R.name)\" to the host")
        return try center.serve(type, options: options, using: handler)
    }

    /// Without a grant, tells the host the name alone, so that it counts and reports the refusal.
    private func require(
        _ kind: Grant.Kind, _ name: SharedNotificationCenter.Name, _ what: @autoclosure () -> String
    ) throws(ExtensionError) {
        do throws(ExtensionError) { try grants.require(kind, name, what()) } catch {
            // It fails if the host is far behind, and then has more to count than this.
            let subject = kind == .requests ? Relay.announcement(of: name) : name
            _ = try? center.post(name: Relay.ungranted, options: .init(subject: subject.rawValue))
            throw error
        }
    }

    /// What the host refused for want of a grant: what this process posted or requested by functions of this object,
    /// which have thrown, or by other means. Reported at the counts 1, 2, 4, 8 and so on.
    public var refusals: SharedNotificationCenter.ObservedSequence<Refusal> { center.messages(of: Refusal.self) }

    /// An element of ``refusals``: the host posts it into the private center.
    ///
    /// ```swift
    /// func log(_ host: HostConnection) async {
    ///     for await refusal in host.refusals { print(refusal.grant, refusal.count) }
    /// }
    /// ```
    public struct Refusal: SharedNotificationCenter.Message, Hashable {
        /// `tidings.extension.refused`.
        public static let name: SharedNotificationCenter.Name = "tidings.extension.refused"
        private var kind: UInt8
        private var notification: String
        /// How often it was refused, as ``Extension/Event/refused(_:count:)`` counts it.
        public var count: Int

        init(_ grant: Grant, count: Int) {
            kind = grant.kind.rawValue
            notification = grant.name.rawValue
            self.count = count
        }

        /// The grant that is missing.
        public var grant: Grant { Grant(Grant.Kind(rawValue: kind) ?? .posts, named: .init(notification)) }
    }
}
