/// Notifications with typed payloads between the processes of one machine.
///
/// Every process that opens the center of a name shares it with all others that do; nothing has to run in between.
/// A center has one order: each observer sees the notifications it asked for in that order, whoever posted them.
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
/// A center object is one participant. Observers keep what they need of it alive: they go on until their
/// ``ObservationToken`` is cancelled or released, also when the last reference to the center object is gone before.
/// A center without observers has no thread.
///
/// After `fork()` a child can post through the same object. Its parent's observers do not exist in the child, and adding one
/// there fails with ``SharedNotificationError/Code-swift.enum/forked``: open a center of its own there.
///
/// A child made by `_Fork()`, `vfork()` or raw `clone()` runs no fork handlers and keeps its parent's locks. If the parent dies,
/// other processes take it for alive until that child calls `exec` or ends, and its lossless observers hold posts back until
/// the posts' deadline.
public final class SharedNotificationCenter: Sendable {
    let core: CenterCore
    let targets = TargetTable()
    #if Macros
        let protocolObservers = ProtocolObservers()
    #endif
    let suspension = Suspension()
    let deferred: PostingQueue
    let subjects = SubjectObservers()

    /// Opens the center of that name, creating it first if there is none (see ``Configuration-swift.struct/creation``).
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// let group = SharedNotificationCenter.Configuration(slots: 65_536, permissions: 0o660)
    /// let larger = try SharedNotificationCenter(named: "com.example.studio", configuration: group)
    /// ```
    ///
    /// Waits for no other process. Sizes in the configuration matter to whoever creates the center; who opens an existing one
    /// takes its sizes.
    ///
    /// - Parameters:
    ///   - name: 1 to 200 bytes of UTF-8, without "/" and not starting with ".".
    ///   - configuration: sizes, access, and where centers live.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument`, `.noSpace` (the message says how much is
    ///   needed), `.notPermitted` (another user's, or in a directory where another user may rename files: see
    ///   ``Configuration-swift.struct/allowsSharedDirectory``), `.notACenter`, `.incompatibleVersion`, `.notFound`,
    ///   `.exists`,
    ///   `.tooManyParticipants`, `.removed` (another process has been removing it for two seconds), `.system`.
    public init(named name: String, configuration: Configuration = Configuration()) throws(SharedNotificationError) {
        core = CenterCore(
            name: name, handle: try CenterHandle(name: name, configuration: configuration),
            configuration: configuration)
        deferred = PostingQueue(core: core)
    }

    init(core: CenterCore) {
        self.core = core
        deferred = PostingQueue(core: core)
    }

    /// A center of this process alone, for what Foundation's `NotificationCenter()` is for: nobody else can open it, unless it is sent to them
    /// (it is a ``sealed(named:configuration:)`` one).
    ///
    /// ```swift
    /// let center = SharedNotificationCenter()
    /// let token = try center.addObserver(forName: "changed", object: nil) { notification in print(notification.name) }
    /// try center.post(name: "changed")
    /// ```
    ///
    /// Ends the process if the operating system has no memory or descriptor left for it; where that is to be an error, use `sealed(named:)`.
    public convenience init() {
        do {
            self.init(
                core: try CenterCore(
                    name: "unnamed", handle: CenterHandle(sealedNamed: "unnamed", configuration: .init())))
        } catch {
            fatalError(error.message)
        }
    }

    /// This user's default center, named `default`, in the default directory: the same object for the whole process, another one in a
    /// forked child.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// try center.post(name: "com.example.changed")
    /// ```
    ///
    /// - Throws: as ``init(named:configuration:)``. A failure is not remembered; the next access tries again.
    public static var `default`: SharedNotificationCenter {
        get throws(SharedNotificationError) { try DefaultCenter.shared.center() }
    }

    /// The name it was opened with.
    public var name: String { core.name }

    /// The file behind the center, for messages to people: `/memfd:` and the name for a sealed one. It is not an interface.
    public var path: String { core.link.handle.path }

    /// A random number, other than 0, that tells this center from the others of its name: from the one before, if that was removed, and from the
    /// next. Sequences are comparable within one incarnation only. It changes if this object follows the name
    /// (``Configuration-swift.struct/followsName``) and goes on in the next center.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// print(center.name, center.incarnation)
    /// ```
    public var incarnation: UInt64 { core.link.handle.incarnation }

    /// Deletes the center's file: nobody can open it any more.
    ///
    /// ```swift
    /// try SharedNotificationCenter.remove(named: "com.example.player")
    /// ```
    ///
    /// Those who have it open get `.removed` from their next post. Never touches a file that is not a center.
    ///
    /// - Parameters:
    ///   - name: as in ``init(named:configuration:)``.
    ///   - configuration: where it lives, and whose it is; sizes make no difference.
    /// - Throws: ``SharedNotificationError``: `.invalidName`, `.invalidArgument` (a size that no center can have), `.notFound`, `.notPermitted`,
    ///   `.notACenter`, `.removed` (another process has been removing it for two seconds).
    public static func remove(
        named name: String, configuration: Configuration = Configuration()
    ) throws(SharedNotificationError) {
        try CenterHandle.remove(name: name, configuration: configuration)
    }

    /// Tidies up what dead participants left. Happens by itself whenever it matters; others go on undisturbed.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// if try center.reclaim() > 0 { print(try center.orphans) }
    /// ```
    ///
    /// - Returns: how many dead participants were tidied up.
    /// - Throws: ``SharedNotificationError``: `.notPermitted` if the center was opened for reading alone.
    @discardableResult
    public func reclaim() throws(SharedNotificationError) -> Int {
        try core.handle.reclaim()
    }

    /// Is told what no observer was told: payloads that do not decode where the observer has no `onUndecodable`, losses where
    /// it has no `onMissed`, sequences that could not start.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// center.onDiagnostic = { diagnostic in
    ///     if case .missed(let count, let name) = diagnostic { print(count, name?.rawValue ?? "of all names") }
    /// }
    /// ```
    ///
    /// Called on whatever thread noticed, one call at a time is not promised. `nil`, the default, writes one line on
    /// standard error for the first report of each kind and name; ``statistics`` counts all. In a forked child it is `nil` until
    /// the child sets it.
    public var onDiagnostic: (@Sendable (Diagnostic) -> Void)? {
        get { core.diagnostics.hook }
        set { core.diagnostics.hook = newValue }
    }
}
