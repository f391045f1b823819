import Foundation
import Glibc
import Testing

@testable import Tidings

typealias Center = SharedNotificationCenter

/// A center of one test, in a directory of its own, gone with the test.
final class TestCenter: Sendable {
    let center: Center
    let directory: String
    let name: String
    let reports: Reports

    /// - Parameter expected: what the center may report to its hook, as `Reports` writes it. Any other report fails the test.
    init(
        _ configuration: Center.Configuration = .init(), expecting expected: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        reports = Reports(expecting: expected, sourceLocation: sourceLocation)
        directory = "/dev/shm/tidings-tests-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        // Whatever the umask: a directory that a group may write to is refused.
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        name = "test-\(UInt32.random(in: 0 ... .max))"
        var configuration = configuration
        configuration.directory = directory
        do {
            center = try Center(named: name, configuration: configuration)
        } catch {
            try? FileManager.default.removeItem(atPath: directory)
            throw error
        }
        reports.record(center)
    }

    deinit {
        reports.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The same center, as another participant.
    func other() throws -> Center {
        try recorded(Center(named: name, configuration: .init(directory: directory, creation: .never)))
    }

    /// The given center object, which makes its reports to this test.
    func recorded(_ center: Center) -> Center {
        reports.record(center)
        return center
    }
}

struct Track: Center.Message, Equatable {
    static let name: Center.Name = "test.track"
    var title: String
    var number: Int

    init(_ number: Int, title: String = "So What") {
        self.title = title
        self.number = number
    }
}

/// The smallest ring there is.
let smallRing = Center.Configuration(slots: 256)

/// CI tells the sanitizers how, so that we know of them. Under one, what is only a matter of luck is tried less often.
let isSanitized = getenv("TSAN_OPTIONS") != nil || getenv("ASAN_OPTIONS") != nil

/// What happened, in order, for somebody who waits for it.
final class Events<Event: Sendable>: @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private let lock = Lock()
    private var events: [Event] = []
    private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func add(_ event: Event) {
        let reached = lock.withLock {
            events.append(event)
            lock.wakeAll()
            let reached = waiting.filter { $0.count <= events.count }
            waiting.removeAll { $0.count <= events.count }
            return reached
        }
        for each in reached { each.continuation.resume() }
    }

    var all: [Event] { lock.withLock { events } }
    var count: Int { lock.withLock { events.count } }

    /// Waits until there are so many, and returns all there are.
    @discardableResult
    func wait(for count: Int) async -> [Event] {
        await withCheckedContinuation { continuation in
            let isThere = lock.withLock {
                if events.count >= count { return true }
                waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        return all
    }

    /// As `wait(for:)`, for synchronous code that must block.
    func block(for count: Int) {
        lock.withLock { while events.count < count { lock.wait() } }
    }
}

/// A place where closures wait until it is opened.
final class Gate: @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private let lock = Lock()
    private var isOpen = false

    func open() {
        lock.withLock {
            isOpen = true
            lock.wakeAll()
        }
    }

    func pass() {
        lock.withLock { while !isOpen { lock.wait() } }
    }
}

/// Runs something that may block on a thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = try? WorkerThread { continuation.resume(returning: body()) }
        thread!.detach()
    }
}

/// How many threads this process has that are not Dispatch's.
func threadCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
}
