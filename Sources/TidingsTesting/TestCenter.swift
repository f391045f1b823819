internal import Glibc
public import Tidings

/// A center for one test, which nothing outside the test can see, and of which nothing is left behind.
///
/// ```swift
/// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
/// let test = try TestCenter()
/// let other = try test.other()                                     // as another process would have it
/// let titles = try other.messages(of: TrackChanged.self).register()
/// try test.center.post(TrackChanged(title: "So What"))
/// for await change in titles { print(change.title); break }
/// ```
///
/// In memory, which is the default, the center has no file, and other processes cannot open it. In a directory, a test
/// can start processes that open it by its name, with ``environment``. Tests that run at the same time do not meet.
public final class TestCenter: Sendable {
    /// Where the center is: ``TestCenter/init(named:in:configuration:)`` takes it, as ``TestCenter/environment`` shows.
    public enum Storage: Hashable, Sendable {
        /// In memory without a file: a sealed center.
        case memory
        /// In a file, in a new directory below `/dev/shm`. The directory is removed with the ``TestCenter``.
        case directory
    }

    /// The center.
    public let center: SharedNotificationCenter
    /// The directory of the center; `nil`: it is in memory.
    public let directory: String?
    private let configuration: SharedNotificationCenter.Configuration

    /// Creates a center, as ``TestCenter`` shows.
    ///
    /// - Parameters:
    ///   - name: the center's name.
    ///   - storage: where it is.
    ///   - configuration: sizes and access. Its directory has no effect.
    /// - Throws: `SharedNotificationError`: `.invalidName`, `.invalidArgument`, `.noSpace`, `.notPermitted`,
    ///   `.system`.
    public init(
        named name: String = "test", in storage: Storage = .memory,
        configuration: SharedNotificationCenter.Configuration = .init()
    ) throws(SharedNotificationError) {
        var configuration = configuration
        switch storage {
        case .memory:
            configuration.directory = nil
            (directory, self.configuration) = (nil, configuration)
            center = try SharedNotificationCenter.sealed(named: name, configuration: configuration)
        case .directory:
            let path = "/dev/shm/tidings-testing-\(getpid())-\(UInt64.random(in: 0 ... .max))"
            // Whatever the umask is: a directory that a group may write to is refused.
            guard mkdir(path, 0o700) == 0 else {
                throw SharedNotificationError(
                    .system(errno), message: "can't create \(path): \(String(cString: strerror(errno)))")
            }
            configuration.directory = path
            (directory, self.configuration) = (path, configuration)
            do throws(SharedNotificationError) {
                center = try SharedNotificationCenter(named: name, configuration: configuration)
            } catch {
                TestCenter.remove(path)
                throw error
            }
        }
    }

    /// The same center as another participant: what another process would have. ``TestCenter`` has an example.
    ///
    /// - Throws: `SharedNotificationError`: `.tooManyParticipants`, `.removed`, `.notFound`, `.system`.
    public func other() throws(SharedNotificationError) -> SharedNotificationCenter {
        guard directory == nil else {
            var existing = configuration
            existing.creation = .never
            return try SharedNotificationCenter(named: center.name, configuration: existing)
        }
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SharedNotificationError(
                .system(errno), message: "can't make a socket pair: \(String(cString: strerror(errno)))")
        }
        defer { for end in ends { close(end) } }
        try center.send(over: ends[0])
        return try SharedNotificationCenter(receivedOver: ends[1], maximumSize: .max)
    }

    /// Variables for a process that opens the center by its name, without a directory of its own. Empty in memory.
    ///
    /// ```swift
    /// let test = try TestCenter(in: .directory)
    /// let peer = Process()
    /// peer.environment = ProcessInfo.processInfo.environment.merging(test.environment) { $1 }
    /// ```
    public var environment: [String: String] { directory.map { ["TIDINGS_DIRECTORY": $0] } ?? [:] }

    deinit {
        if let directory { Self.remove(directory) }
    }

    /// Removes the directory with its files. It has no folders.
    private static func remove(_ path: String) {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { unlink("\(path)/\(name)") }
        }
        closedir(folder)
        rmdir(path)
    }
}
