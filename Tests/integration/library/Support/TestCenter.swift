import Foundation
import Glibc
import Testing

@testable import Tidings

typealias Center = SharedNotificationCenter

/// A center of one test, in its own directory, which is removed with this object.
final class TestCenter: Sendable {
    let center: Center
    let directory: String
    let name: String
    let reports: Reports

    /// - Parameter expected: the reports that the center may make, as `Reports` writes them. Any other report fails the
    /// test.
    init(
        _ configuration: Center.Configuration = .init(), expecting expected: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        reports = Reports(expecting: expected, sourceLocation: sourceLocation)
        directory = "/dev/shm/tidings-tests-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        // Set independently of the umask: the library refuses a directory that a group may write to.
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

    /// The given center object, with its reports connected to this test.
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

/// The number of slots of the smallest ring.
let smallRing = Center.Configuration(slots: 256)

/// CI passes the sanitizer's name. Under a sanitizer, tests repeat random attempts less often.
let isSanitized = getenv("TSAN_OPTIONS") != nil || getenv("ASAN_OPTIONS") != nil

/// Events in their order, for a test that waits for them.
final class Events<Event: Sendable>: @unchecked Sendable {
    // Sendable: the variables are accessed only while the lock is held.
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

    /// Waits until there are at least `count` events, and returns all events.
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

    /// Like `wait(for:)`, for synchronous code that must block.
    func block(for count: Int) {
        lock.withLock { while events.count < count { lock.wait() } }
    }
}

/// A gate at which closures wait until it is opened.
final class Gate: @unchecked Sendable {
    // Sendable: the variables are accessed only while the lock is held.
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

/// Runs code that may block on its own thread.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = try? WorkerThread { continuation.resume(returning: body()) }
        thread!.detach()
    }
}

/// The number of this process's threads, without those of Dispatch.
func threadCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
}
