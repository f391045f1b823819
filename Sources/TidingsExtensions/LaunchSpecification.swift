public import Tidings

/// How an extension is started, what it may do, and what happens when it ends.
///
/// ```swift
/// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
/// struct Volume: SharedNotificationCenter.Message { var level: Double }
/// let specification = LaunchSpecification(
///     executable: "/usr/libexec/player/lyrics", arguments: ["--language", "en"],
///     grants: [.observes(TrackChanged.self)],
///     configuration: [.message(Volume(level: 0.5))],
///     restart: .onFailure(backoff: .exponential(upTo: .seconds(30)), limit: 5),
///     limits: .init(memory: 1 << 30, cpuTime: .seconds(600), openFiles: 64, payload: 1 << 20))
/// ```
public struct LaunchSpecification: Sendable {
    /// The path of the executable. `PATH` is not searched. A wrapper script must pass its standard input on to the
    /// extension's process.
    public var executable: String
    /// The arguments, without argument 0, which is ``executable``.
    public var arguments: [String]
    /// The environment; `nil`: the host's.
    public var environment: [String: String]?
    /// The working directory; `nil`: the host's.
    public var directory: String?
    /// The extension's name in messages and as its private center's name, 1 to 200 bytes of UTF-8 without "/" and not
    /// starting with ".". Default: the last part of ``executable``.
    public var name: String
    /// What the extension may do. The names have at most 65,512 bytes in all, with two bytes for each name.
    public var grants: [Grant]
    /// Retained values that are in the private center before the extension's process exists. Each start gets them anew.
    public var configuration: [InitialState]
    /// Whether and when the extension is started again.
    public var restart: RestartPolicy
    /// What the extension may use at most.
    public var limits: Limits
    /// What the extension may access; `nil`: what the host may.
    public var sandbox: Sandbox?
    /// How long a started process may take until it is ready. After that it is killed. Default: 10 seconds.
    public var readyTimeout: Duration

    /// Creates a specification, each property as it says; ``LaunchSpecification`` shows it. It is checked when the
    /// extension is launched.
    public init(
        executable: String, arguments: [String] = [], environment: [String: String]? = nil, directory: String? = nil,
        name: String? = nil, grants: [Grant] = [], configuration: [InitialState] = [],
        restart: RestartPolicy = .never, limits: Limits = Limits(), sandbox: Sandbox? = nil,
        readyTimeout: Duration = .seconds(10)
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
        self.name = name ?? String(executable.split(separator: "/").last ?? "extension")
        self.grants = grants
        self.configuration = configuration
        self.restart = restart
        self.limits = limits
        self.sandbox = sandbox
        self.readyTimeout = readyTimeout
    }

    /// Checks what no later step checks.
    func check() throws(ExtensionError) {
        func refuse(_ what: String) -> ExtensionError {
            ExtensionError(.invalidArgument, message: "can't launch extension \"\(name)\": \(what)")
        }
        let size = grants.reduce(0) { $0 + 2 + $1.name.rawValue.utf8.count }
        guard size <= HandShake.most else {
            throw refuse("its grants take \(size) bytes, and at most \(HandShake.most) are possible; use fewer")
        }
        for grant in grants
        where !(1...255).contains(grant.name.rawValue.utf8.count) || grant.name.rawValue.utf8.contains(0) {
            throw refuse("a grant \(grant) is no name; a name has 1 to 255 bytes without NUL")
        }
        for (limit, what) in [(limits.memory, "memory"), (limits.openFiles, "openFiles"), (limits.payload, "payload")] {
            if let limit, limit < 1 { throw refuse("its limit \(what) is \(limit); set at least 1, or nil") }
        }
        var texts = arguments + [executable]
        if let directory { texts.append(directory) }
        // Otherwise the sandbox would allow what is before the NUL.
        if let sandbox { texts += sandbox.readable + sandbox.writable }
        for (key, value) in environment ?? [:] { texts.append("\(key)=\(value)") }
        guard texts.allSatisfy({ !$0.utf8.contains(0) }) else { throw refuse("an argument or path contains a NUL") }
    }

    /// A retained value of the private center, for ``configuration``. The extension reads it with
    /// `state(for:)` of ``HostConnection/center``, or observes it.
    ///
    /// ```swift
    /// struct Volume: SharedNotificationCenter.Message { var level: Double }
    /// let values: [LaunchSpecification.InitialState] = [
    ///     .message(Volume(level: 0.5)), .value("en", for: "com.example.language"),
    /// ]
    /// ```
    public struct InitialState: Sendable {
        let set: @Sendable (SharedNotificationCenter) throws(SharedNotificationError) -> Void

        /// A message as the value of its type's name, as ``InitialState`` shows. It is encoded at each start.
        public static func message<M: SharedNotificationCenter.Message>(_ message: M) -> InitialState {
            InitialState { center throws(SharedNotificationError) in try center.setState(message) }
        }

        /// A value (as CBOR) of a name, as ``InitialState`` shows. It is encoded at each start.
        public static func value<Value: Encodable & Sendable>(
            _ value: Value, for name: SharedNotificationCenter.Name
        ) -> InitialState {
            InitialState { center throws(SharedNotificationError) in try center.setState(value, for: name) }
        }
    }

    /// What a process of an extension may use. The kernel enforces it; a limit that the kernel refuses is an error of
    /// the launch. ``LaunchSpecification`` has an example.
    public struct Limits: Hashable, Sendable {
        /// Address space in bytes (`RLIMIT_AS`); `nil`: as the host.
        ///
        /// The centers are part of it. The private center takes 345 MiB with the default ``payload``, and 41 MiB if
        /// that is 1 MiB. The broadcast center takes 439 MiB if its configuration is the default.
        public var memory: Int?
        /// Processor time, in whole seconds, rounded up (`RLIMIT_CPU`); `nil`: as the host. Beyond it the kernel sends
        /// SIGXCPU, and SIGKILL a second later.
        public var cpuTime: Duration?
        /// Open descriptors (`RLIMIT_NOFILE`), at least 1; a program in Swift needs about 32. `nil`: as the host.
        public var openFiles: Int?
        /// The largest payload in the private center, in bytes, 1 to 1 GiB; `nil`: 16 MiB.
        public var payload: Int?

        /// Creates limits, each as the property that it sets says; ``LaunchSpecification`` has an example.
        public init(memory: Int? = nil, cpuTime: Duration? = nil, openFiles: Int? = nil, payload: Int? = nil) {
            self.memory = memory
            self.cpuTime = cpuTime
            self.openFiles = openFiles
            self.payload = payload
        }
    }

    /// What a process of an extension may access. What the kernel cannot enforce is an error of the launch.
    ///
    /// ```swift
    /// let sandbox = LaunchSpecification.Sandbox.landlock(
    ///     readable: LaunchSpecification.Sandbox.system + ["/usr/libexec/player", "/var/lib/player"],
    ///     writable: ["/var/cache/player"], network: false)
    /// ```
    ///
    /// Each extension has `no_new_privs`, also without a sandbox: no program that it runs gets more rights than it has.
    /// Descriptors that it has are not limited: standard output, standard error, and the memory of its centers. A
    /// process of the host's user can open the broadcast center's memory for writing, through `/proc/self/fd`; Landlock
    /// does not prevent that.
    public struct Sandbox: Hashable, Sendable {
        let readable: [String]
        let writable: [String]
        let network: Bool

        /// A sandbox of Landlock (Linux 5.13 or later), as ``Sandbox`` shows.
        ///
        /// - Parameters:
        ///   - readable: files, and folders with all that they contain, that the extension may read and execute. The
        ///     executable itself must be among them, its interpreter, and its libraries (``system``).
        ///   - writable: files and folders that the extension may also create, change and delete.
        ///   - network: whether the extension may make sockets other than Unix ones.
        public static func landlock(
            readable: [String], writable: [String] = [], network: Bool = true
        ) -> Sandbox {
            Sandbox(readable: readable, writable: writable, network: network)
        }

        /// What a program in Swift needs of the system, as far as it exists: the usual folders of libraries, the cache
        /// of the dynamic loader, `/dev/null`, and `/proc`. Dispatch reads the state of its threads from `/proc`, and
        /// ends the process if it cannot. Landlock keeps memory, environment and descriptors of processes outside of
        /// the sandbox from being read there. Libraries elsewhere, such as those of a Swift toolchain, are not among
        /// them.
        public static var system: [String] {
            ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/dev/null", "/proc"]
                .filter(isReachable)
        }
    }
}
