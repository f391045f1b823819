internal import Dispatch
internal import Glibc
public import Tidings

/// Starts programs as extensions of this one, supervises them, and lets them take part in notifications and requests.
///
/// ```swift
/// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
/// struct Liked: SharedNotificationCenter.Message { var title: String }
/// struct Render: SharedNotificationCenter.Request { typealias Reply = String; var page: Int }
///
/// let host = try ExtensionHost(broadcast: .sealed(named: "player.events"))
/// let lyrics = try await host.launch(
///     .init(
///         executable: "/usr/libexec/player/lyrics",
///         grants: [.observes(TrackChanged.self), .posts(Liked.self), .serves(Render.self)],
///         restart: .onFailure(limit: 5)))
/// try host.broadcast.post(TrackChanged(title: "So What"))
/// let page = try await lyrics.request(Render(page: 3), timeout: .seconds(2))
/// for await event in lyrics.lifecycle { print(event) }
/// ```
///
/// The program that is started conforms to ``TidingsExtension``, or uses the C header `tidings_extension.h`.
///
/// Promise:
/// - Each process of an extension has a private center with the host, so the center that a message arrives on
///   identifies its sender. With a grant to observe, it also has read-only access to the broadcast center. It receives
///   both over its standard input, and needs no name, no directory and no `/proc`.
/// - The host enforces ``Grant``s. What an extension posts with a grant, the host posts into the broadcast center with
///   the same name, subject and payload. There the host is the poster, and the notification is not retained. Anything
///   else is refused, counted, and reported to both sides (``Extension/Event/refused(_:count:)``,
///   ``HostConnection/refusals``).
/// - An extension that damages its private center, floods it, or does not reply, disturbs no other extension. A grant
///   to post is the right to post as much as the broadcast center takes, at most 64,000 notifications a second: the
///   host pauses for a millisecond after each 64.
/// - When this object is released, or the host's process ends in any way, all extension processes and their descendants
///   are killed. An ``Extension`` does not keep it: keep it yourself as long as extensions are to run. A handler that
///   captures it keeps it for ever (``serve(_:using:)``).
/// - What the library finds wrong in a private center, such as a request that does not decode, is passed to
///   `onDiagnostic` of the broadcast center. Without a closure there it is dropped. Of many of
///   one kind (of payloads that do not decode, of one name) and one process, the closure receives the 1st, 2nd, 4th,
///   8th and so on (``Extension/undecodableCount``).
///
/// A host has one child process, the launcher, and two threads. An extension takes three threads of the host, one more
/// for each name that the host serves to it, and one for each of the (up to 16) names last requested from it. All of
/// them sleep unless the extension is active. A private center takes half a MiB, and more for payloads that do not fit
/// a slot. No function of the host blocks the thread of a task, but its initializer forks the process: 10 ms for each
/// GiB of the host's memory.
public final class ExtensionHost: Sendable {
    /// The center into which the host forwards what extensions post.
    ///
    /// ```swift
    /// let readable = SharedNotificationCenter.Configuration(slots: 65_536, permissions: 0o644)
    /// let events = try SharedNotificationCenter.sealed(named: "events", configuration: readable)
    /// let host = try ExtensionHost(broadcast: .center(events))
    /// ```
    public struct Broadcast: Sendable {
        let center: SharedNotificationCenter

        /// A new sealed center, as ``ExtensionHost`` shows.
        ///
        /// - Parameters:
        ///   - name: the center's name, for messages.
        ///   - configuration: sizes. Permissions that are `nil` become `0o644`, so that extensions can get read access
        ///     alone.
        /// - Throws: `SharedNotificationError`, as `SharedNotificationCenter.sealed(named:configuration:)`.
        public static func sealed(
            named name: String, configuration: SharedNotificationCenter.Configuration = .init()
        ) throws(SharedNotificationError) -> Broadcast {
            var configuration = configuration
            if configuration.permissions == nil { configuration.permissions = 0o644 }
            return Broadcast(center: try .sealed(named: name, configuration: configuration))
        }

        /// A sealed center that the program has created with permissions such as `0o644`, as ``Broadcast`` shows. With
        /// another center, launching an extension that may observe throws ``ExtensionError/Code-swift.struct/center``.
        public static func center(_ center: SharedNotificationCenter) -> Broadcast { Broadcast(center: center) }
    }

    /// The broadcast center, for the host's own posts and observers.
    public var broadcast: SharedNotificationCenter { core.broadcast }

    let core: HostCore

    /// Starts the launcher process, as ``ExtensionHost`` says.
    ///
    /// - Throws: ``ExtensionError``: `.system` if no process can be started.
    public init(broadcast: Broadcast) throws(ExtensionError) {
        core = HostCore(broadcast.center)
        try core.open()
    }

    deinit {
        core.close()
    }

    /// Starts an extension, and returns when it is ready.
    ///
    /// ``ExtensionHost`` has an example. The extension runs until it ends or is stopped, or the host ends; the host
    /// keeps it if the returned object is released.
    ///
    /// A failure of this first start is thrown, and not repeated: the ``RestartPolicy`` begins when the extension has
    /// been ready.
    ///
    /// - Throws: `CancellationError` if the task is cancelled: the process is killed then. ``ExtensionError``:
    ///   `.invalidArgument`, `.notFound`, `.notPermitted` (also: not executable), `.notSupported` (a limit or sandbox
    ///   that the kernel cannot enforce), `.endedEarly`, `.notReady` (killed after
    ///   ``LaunchSpecification/readyTimeout``), `.otherVersion`, `.center`, `.stopped`, `.system`.
    public func launch(_ specification: LaunchSpecification) async throws -> Extension {
        let launched = try Extension(specification, core)
        try await launched.launch()
        return launched
    }

    /// Serves a type of requests to all extensions that have a grant for it (``Grant/requests(_:)``).
    ///
    /// ```swift
    /// struct Lookup: SharedNotificationCenter.Request { typealias Reply = String; var word: String }
    /// let host = try ExtensionHost(broadcast: .sealed(named: "player.events"))
    /// try await host.serve(Lookup.self) { request, caller in "\(request.word), for \(caller.name)" }
    /// ```
    ///
    /// Extensions that are running, and those that are launched later, can make such requests when this call has
    /// returned, until the host ends. Handlers, their cancellation and their errors: as
    /// `SharedNotificationCenter.serve(_:options:using:)`. Each extension has a server of its own, so one that makes
    /// many requests takes no handler from the others. The second parameter of the handler is the extension that makes
    /// the request: it is known by its private center, and cannot be forged. The handler is kept until the host ends,
    /// so it must not hold the host: capture it `weak`.
    ///
    /// - Throws: ``ExtensionError``: `.alreadyServed` if the name was served before. A server that cannot be opened for
    ///   an extension ends that extension's process, with ``Extension/Event/failed(_:)``.
    public func serve<R: SharedNotificationCenter.Request>(
        _ type: R.Type = R.self, using handler: @escaping @Sendable (R, Extension) async throws -> R.Reply
    ) async throws(ExtensionError) {
        try await core.serve(R.name) { center, caller throws(SharedNotificationError) in
            try center.serve(R.self) { [weak caller] request, _ in
                guard let caller else { throw CancellationError() }
                return try await handler(request, caller)
            }
        }
    }

    /// Stops all extensions, as ``Extension/stop(timeout:)`` does, and returns when all have ended.
    public func stopAll(timeout: Duration = .seconds(5)) async {
        await withTaskGroup { group in
            for each in core.running { group.addTask { await each.stop(timeout: timeout) } }
        }
    }
}
