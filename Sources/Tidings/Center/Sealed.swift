// Sealed centers: centers without a file, which one process sends to another over a socket.
extension SharedNotificationCenter {
    /// Creates a center without a file: for this process alone, as in a unit test, or to send it to peers.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.sealed(named: "com.example.sandbox")
    /// let socket: Int32 = 3                                       // connected to the peer
    /// // the peer calls SharedNotificationCenter(receivedOver: socket)
    /// try center.send(over: socket, isReadOnly: false)
    /// ```
    ///
    /// The center is memory whose size is sealed, so no process can shorten it. A file does not have this protection: a
    /// process that shortens a center's file makes the other processes crash. That is the only such attack that a file
    /// leaves open. The memory is freed with the last process that has the center open.
    ///
    /// - Parameters:
    ///   - name: for messages only: a sealed center is not found by its name. As for ``init(named:configuration:)``.
    ///   - configuration: sizes, ``Configuration-swift.struct/permissions`` and ``Configuration-swift.struct/group``.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument` (also for an owner, `isReadOnly`, or a
    ///   creation `.never`), `.notPermitted` (this process isn't in the group), `.noSpace`, `.system` (no memory, no
    ///   descriptor, or no `/proc`).
    public static func sealed(
        named name: String, configuration: Configuration = Configuration()
    ) throws(SharedNotificationError) -> SharedNotificationCenter {
        let handle = try CenterHandle(sealedNamed: name, configuration: configuration)
        return SharedNotificationCenter(core: CenterCore(name: name, handle: handle))
    }

    /// Sends a sealed center to the process at the other end of a connected Unix socket, as
    /// ``sealed(named:configuration:)`` shows. The peer needs no other access. Waits as `sendmsg` on that socket does.
    ///
    /// - Parameters:
    ///   - socket: the descriptor; the caller keeps it.
    ///   - isReadOnly: whether the peer may only observe (see ``Configuration-swift.struct/isReadOnly``). The center's
    ///     permissions must let users read it without write permission, `0o644` for instance.
    /// - Throws: ``SharedNotificationError``: `.invalidArgument` if the center is not a sealed one, `.notPermitted` if
    ///   the peer would get more rights than this process has, or if the permissions give no user read permission
    ///   alone, `.notFound` if there is no `/proc`, `.system` with the error of `sendmsg`.
    public func send(over socket: Int32, isReadOnly: Bool = false) throws(SharedNotificationError) {
        try core.handle.send(over: socket, isReadOnly: isReadOnly)
    }

    /// Waits for a center that a peer sends with ``send(over:isReadOnly:)``, as `recvmsg` on that socket does.
    ///
    /// ```swift
    /// let socket: Int32 = 3                                       // connected to the process that has the center
    /// let center = try SharedNotificationCenter(receivedOver: socket, maximumSize: 64 << 20)
    /// ```
    ///
    /// The sender is not trusted: a center that is not sealed is refused, and all checks of opening a file are made.
    /// The sender chooses the center's size. The receiver reserves that much address space, and its peers can make the
    /// center take that much memory. A center of more than `maximumSize` bytes is refused before any of it is mapped.
    ///
    /// - Parameters:
    ///   - socket: the descriptor; the caller keeps it.
    ///   - maximumSize: the size of the largest center that is accepted, in bytes (its `statistics.fileSize` of
    ///     TidingsAdministration), at least 1. Default: 1 GiB.
    /// - Throws: ``SharedNotificationError``: `.centerTooLarge` if the center has more than `maximumSize` bytes,
    ///   `.invalidArgument` if `maximumSize` is less than 1 (nothing is received then), `.notACenter` if something else
    ///   was sent, `.notPermitted` if it is not sealed, `.incompatibleVersion`, `.tooManyParticipants`,
    ///   `.system(ECONNRESET)` if the other end is closed, `.system(EAGAIN)` if the socket does not block and no
    ///   message has arrived.
    public convenience init(receivedOver socket: Int32, maximumSize: Int = 1 << 30) throws(SharedNotificationError) {
        let handle = try CenterHandle(receivedOver: socket, maximumSize: maximumSize)
        let prefix = "/memfd:"
        let path = handle.path
        self.init(core: CenterCore(name: String(path.dropFirst(prefix.count)), handle: handle))
    }
}
