/// Notifications with typed payloads between the processes of one machine.
///
/// All processes that open a center by the same name share it. No process has to run in between.
/// A center has one order: each observer receives the notifications that it asked for in that order, from all posters.
///
/// ```swift
/// struct TrackChanged: SharedNotificationCenter.Message {
///     var title: String
/// }
/// let center = try SharedNotificationCenter(named: "com.example.player")
/// let token = try center.addObserver(for: TrackChanged.self) { change in print(change.title) }
/// try center.post(TrackChanged(title: "So What"))
/// ```
///
/// A center object is one participant. Its observers keep the center open: they go on until their
/// ``ObservationToken`` is cancelled or released, even after the last reference to the center object is gone.
/// A center object without observers has no thread.
///
/// After `fork()`, a child can post through the same object. The parent's observers do not exist in the child. Adding
/// an observer there fails with ``SharedNotificationError/Code-swift.struct/forked``: the child must open the center
/// itself.
///
/// A child made by `_Fork()`, `vfork()` or raw `clone()` runs no fork handlers and keeps its parent's locks. If the
/// parent dies, the parent's participant then counts as alive until that child calls `exec` or ends. Until then, the
/// parent's lossless observers hold posts back for their whole timeout.
public final class SharedNotificationCenter: Sendable {
    let core: CenterCore
    let posting: PostingCore
    let owners = OwnerTable()
    #if Macros
        let protocolObservers = ProtocolObservers()
    #endif
    let suspension = Suspension()
    let deferred: PostingQueue
    let subjects = SubjectObservers()
    let callers: Callers

    /// Opens the center of that name. Creates it first if there is none (see ``Configuration-swift.struct/creation``).
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// let group = SharedNotificationCenter.Configuration(slots: 65_536, permissions: 0o660)
    /// let larger = try SharedNotificationCenter(named: "com.example.studio", configuration: group)
    /// ```
    ///
    /// Waits for no other process, except up to two seconds for one that is removing that center. The process that
    /// creates the center decides its sizes; a process that opens an existing center takes the center's sizes.
    ///
    /// - Parameters:
    ///   - name: 1 to 200 bytes of UTF-8, without "/" and not starting with ".".
    ///   - configuration: sizes, access, and the directory of the center.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument`, `.noSpace` (the message says how much
    ///   is needed), `.notPermitted` (another user's center, or a directory where another user may rename files: see
    ///   ``Configuration-swift.struct/allowsSharedDirectory``), `.notACenter`, `.incompatibleVersion`, `.notFound`,
    ///   `.exists`, `.tooManyParticipants`, `.removed` (another process has been removing it for two seconds),
    ///   `.system`.
    public convenience init(
        named name: String, configuration: Configuration = Configuration()
    ) throws(SharedNotificationError) {
        let handle = try CenterHandle(name: name, configuration: configuration)
        self.init(core: CenterCore(name: name, handle: handle, configuration: configuration))
    }

    init(core: CenterCore) {
        self.core = core
        posting = PostingCore(core)
        deferred = PostingQueue(posting)
        callers = Callers(core)
    }

    /// This user's default center, named `default`, in the default directory.
    ///
    /// One process always gets the same object. A forked child gets another object.
    ///
    /// - Throws: as ``init(named:configuration:)``. A failure is not remembered: the next access tries again.
    public static var `default`: SharedNotificationCenter {
        get throws(SharedNotificationError) {
            try defaultCenter.object.withLock { (opened) throws(SharedNotificationError) in
                if let center = opened { return center }
                let center = try SharedNotificationCenter(named: "default")
                opened = center
                return center
            }
        }
    }

    private static let defaultCenter = ForkLocal { Locked<SharedNotificationCenter?>(nil) }

    /// The name that the center was opened with.
    public var name: String { core.link.name }

    /// A random number, other than 0, that differs for each center of the same name.
    ///
    /// A center that is created after a removal has another incarnation than the removed one. Sequences are comparable
    /// within one incarnation only. The number changes if this object follows the name
    /// (``Configuration-swift.struct/followsName``) and goes on in the next center.
    public var incarnation: UInt64 { core.link.handle.incarnation }

    /// Deletes the center's file, so that no process can open the center any more.
    ///
    /// ```swift
    /// try SharedNotificationCenter.remove(named: "com.example.player")
    /// ```
    ///
    /// Processes that have the center open get `.removed` from their next post. Never deletes a file that is not a
    /// center.
    ///
    /// - Parameters:
    ///   - name: as in ``init(named:configuration:)``.
    ///   - configuration: the center's directory and owner; sizes make no difference.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument` (a size that no center can have),
    ///   `.notFound`, `.notPermitted`, `.notACenter`, `.removed` (another process has been removing it for two
    ///   seconds).
    public static func remove(
        named name: String, configuration: Configuration = Configuration()
    ) throws(SharedNotificationError) {
        try CenterHandle.remove(name: name, configuration: configuration)
    }

    /// A closure that receives what no observer was informed of, as ``Diagnostic`` shows: for example payloads that do
    /// not decode where the observer has no `onUndecodable`.
    ///
    /// Called on the thread that noticed it; several threads may call it at the same time. If it is `nil` (the
    /// default), the first report of each kind and name is written to standard error as one line. The product
    /// TidingsAdministration counts all (`statistics`). In a forked child it is `nil` until the child sets it.
    public var onDiagnostic: (@Sendable (Diagnostic) -> Void)? {
        get { core.diagnostics.hook }
        set { core.diagnostics.hook = newValue }
    }

    /// What observers of this center object could not decode and what they missed. For TidingsAdministration.
    package var diagnosticCounts: (undecodable: Int, missed: Int) { core.diagnostics.counts }

    /// Reports a post that could not be forwarded to ``onDiagnostic``.
    package func reportPostFailed(_ name: Name, _ error: SharedNotificationError) {
        core.diagnostics.report(.postFailed(name, error))
    }

    /// Calls `body` with the open center of the C library: this object's, or its successor's if the center has ended
    /// and this object follows its name. For TidingsAdministration.
    ///
    /// The pointer is valid only during the call. The handle closes the center with its last reference, so it is kept
    /// until `body` has returned: this object may move to a successor meanwhile.
    package func withCenter<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let handle = core.handle
        return try withExtendedLifetime(handle) { () throws(Failure) in try body(handle.center) }
    }

    /// The open center of the C library, and the object that keeps it open. For TidingsAdministration.
    package var openCenter: (center: OpaquePointer, keeper: any AnyObject & Sendable) {
        let handle = core.handle
        return (handle.center, handle)
    }
}
