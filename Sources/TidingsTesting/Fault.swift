internal import Glibc
internal import Synchronization
public import Tidings

/// A fault of a process, for tests of what the other processes do then.
///
/// The test starts its peer with the fault in its environment:
/// ```swift
/// let test = try TestCenter(in: .directory)
/// let fault = Fault.killAtPost(2, of: "com.example.player.trackChanged")
/// let peer = Process()
/// peer.environment = test.environment.merging(fault.environment) { $1 }
/// ```
/// The peer, which is the program under test or a helper of the tests, arms it after it has opened its center:
/// ```swift
/// let center = try SharedNotificationCenter(named: "test")
/// Fault.armFromEnvironment(in: center)
/// ```
///
/// Promise: the process is killed (SIGKILL) in the call that would have posted, before anything of that post is in the
/// center. The posts before are complete. So a test is as exact as its count, and does not depend on time.
public struct Fault: Hashable, Sendable {
    private static let variable = "TIDINGS_TESTING_FAULT"
    private let number: Int
    private let name: SharedNotificationCenter.Name?

    /// The process is killed at a post of one center object, as ``Fault`` shows.
    ///
    /// - Parameters:
    ///   - number: 1: its next post, 2: the one after, and so on. A batch (`post(contentsOf:options:)`) counts as one
    ///     post. Requests, and values that are cleared, do not count.
    ///   - name: counts only posts under this name; `nil`: all.
    public static func killAtPost(_ number: Int = 1, of name: SharedNotificationCenter.Name? = nil) -> Fault {
        Fault(number: max(1, number), name: name)
    }

    /// Variables that ``armFromEnvironment(in:)`` of a process reads.
    public var environment: [String: String] { [Self.variable: "\(number) \(name?.rawValue ?? "")"] }

    /// Arms the fault that this process has in its environment; nothing, if it has none. ``Fault`` has an example.
    public static func armFromEnvironment(in center: SharedNotificationCenter) {
        guard let text = getenv(variable).map({ String(cString: $0) }) else { return }
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[0]) else { return }
        killAtPost(number, of: parts[1].isEmpty ? nil : .init(String(parts[1]))).arm(in: center)
    }

    /// Arms the fault in this process, for a center object: ``Fault`` has an example. Forked children of it have none.
    public func arm(in center: SharedNotificationCenter) {
        let others = center.postTracer
        let count = Counter()
        center.postTracer = { [number, name] posted in
            if name == nil || name == posted, count.next() >= number { kill(getpid(), SIGKILL) }
            return others?(posted)
        }
    }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)
        func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
    }
}
