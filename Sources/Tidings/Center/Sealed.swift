extension SharedNotificationCenter {
    /// Creates a center without a file, for peers that it is sent to.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.sealed(named: "com.example.sandbox")
    /// let socket: Int32 = 3                                       // connected to the peer
    /// try center.send(over: socket, isReadOnly: false)            // there: SharedNotificationCenter(receivedOver: socket)
    /// ```
    ///
    /// It is memory whose size is sealed: nobody, whatever code they run, can cut it short under others, which is the one way to
    /// make a process crash that a file leaves open. It is gone with the last process that has it.
    ///
    /// - Parameters:
    ///   - name: for messages; nobody finds the center by it. As for ``init(named:configuration:)``.
    ///   - configuration: sizes, ``Configuration-swift.struct/permissions`` and ``Configuration-swift.struct/group``.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument` (also for an owner, `isReadOnly`, or a creation `.never`),
    ///   `.notPermitted` (this process isn't in the group), `.noSpace`, `.system` (no memory, no descriptor, or no `/proc`).
    public static func sealed(
        named name: String, configuration: Configuration = Configuration()
    ) throws(SharedNotificationError) -> SharedNotificationCenter {
        let handle = try CenterHandle(sealedNamed: name, configuration: configuration)
        return SharedNotificationCenter(core: CenterCore(name: name, handle: handle))
    }

    /// Hands a sealed center to the process at the other end of a connected Unix socket, which needs no access to anything else.
    ///
    /// ```swift
    /// func hand(_ center: SharedNotificationCenter, to sandboxed: Int32) throws(SharedNotificationError) {
    ///     try center.send(over: sandboxed, isReadOnly: true)
    /// }
    /// ```
    ///
    /// Waits as `sendmsg` on that socket does.
    ///
    /// - Parameters:
    ///   - socket: the descriptor, which stays yours.
    ///   - isReadOnly: whether the peer may only observe (see ``Configuration-swift.struct/isReadOnly``). The center's
    ///     permissions must let somebody read who may not write, `0o644` for instance.
    /// - Throws: ``SharedNotificationError``: `.invalidArgument` if the center is not a sealed one, `.notPermitted` if the peer would get more
    ///   than this process has, or the permissions let nobody read who may not write, `.notFound` if there is no `/proc`, `.system` with
    ///   what `sendmsg` said.
    public func send(over socket: Int32, isReadOnly: Bool = false) throws(SharedNotificationError) {
        try core.handle.send(over: socket, isReadOnly: isReadOnly)
    }

    /// Waits for a center that a peer sends with ``send(over:isReadOnly:)``, as `recvmsg` on that socket does.
    ///
    /// ```swift
    /// let socket: Int32 = 3                                       // connected to the process that has the center
    /// let center = try SharedNotificationCenter(receivedOver: socket, maximumSize: 64 << 20)
    /// let token = try center.addObserver(forName: "com.example.changed", object: nil) { notification in print(notification.name) }
    /// ```
    ///
    /// Whoever sent it: what is not sealed is refused, and everything is checked that opening a file checks.
    ///
    /// The sender chooses the center's size. The receiver gives that many addresses, and its peers can make the center take
    /// that much memory. A center of more than `maximumSize` bytes is refused before anything of it is mapped.
    ///
    /// - Parameters:
    ///   - socket: the descriptor, which stays yours.
    ///   - maximumSize: the largest center that is accepted, in bytes (what its `statistics.fileSize` says), at least 1.
    ///     Default: 1 GiB.
    /// - Throws: ``SharedNotificationError``: `.centerTooLarge` if the center has more than `maximumSize` bytes,
    ///   `.invalidArgument` if `maximumSize` is less than 1 (nothing is received then), `.notACenter` if something else was
    ///   sent, `.notPermitted` if it is not sealed, `.incompatibleVersion`, `.tooManyParticipants`, `.system(ECONNRESET)` if the
    ///   other end is closed, `.system(EAGAIN)` if nothing is there on a socket that does not wait.
    public convenience init(
        receivedOver socket: Int32, maximumSize: Int = 1 << 30
    ) throws(SharedNotificationError) {
        let handle = try CenterHandle(receivedOver: socket, maximumSize: maximumSize)
        let prefix = "/memfd:"
        let path = handle.path
        self.init(core: CenterCore(name: String(path.dropFirst(prefix.count)), handle: handle))
    }
}
