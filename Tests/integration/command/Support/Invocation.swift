import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// A directory for the centers of one test, gone with the test.
final class CenterDirectory: Sendable {
    let path: String

    init() throws {
        path = "/dev/shm/tidings-cli-tests-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        // Whatever the umask: a directory that a group may write to is refused.
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The same center that the command means by that name.
    func center(
        _ name: String = "default", slots: Int? = nil, participants: Int? = nil, permissions: UInt32? = nil
    ) throws -> SharedNotificationCenter {
        try SharedNotificationCenter(
            named: name,
            configuration: .init(
                directory: path, slots: slots, participants: participants, permissions: permissions))
    }

    var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
}

/// The real command, as a process. It is killed with the last reference to it.
final class Invocation: @unchecked Sendable {
    // Sendable: `waiting` and `status` are touched with the lock held only.
    let process: ChildProcess
    let output: Lines
    let errors: Lines
    private let lock = NSLock()
    private var waiting: [CheckedContinuation<Int32, Never>] = []
    private var status: Int32?

    /// Seconds after which it is killed: this ends what hangs, under sanitizers on a busy machine too.
    private static let limit = 600

    /// Of an executable that was built beside this test.
    static func path(of name: String) throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
    }

    init(
        _ arguments: [String], in directory: CenterDirectory, input: String = "", output: Int32? = nil,
        executable name: String = "tidings"
    ) throws {
        let executable = try name.hasPrefix("/") ? name : Self.path(of: name)
        let (inputs, outputs, errorOutputs) = (try PipeEnds(), try PipeEnds(), try PipeEnds())
        process = try ChildProcess.start(
            executable, arguments, environment: ["TIDINGS_DIRECTORY": directory.path], input: inputs.reading,
            output: output ?? outputs.writing, errors: errorOutputs.writing)
        for end in [inputs.reading, outputs.writing, errorOutputs.writing] { close(end) }
        self.output = Lines(readingFrom: outputs.reading)
        errors = Lines(readingFrom: errorOutputs.reading)
        Thread.detachNewThread { [process, weak self] in
            _ = Array(input.utf8).withUnsafeBytes { Terminal.writeAll($0, to: inputs.writing) }
            close(inputs.writing)
            let status: Int32 =
                switch process.waitUntilEnded() {
                case .exited(let status): status
                case .killed(let signal): -signal
                }
            self?.end(status)
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.limit)) { [weak self] in self?.send(SIGKILL)
        }
    }

    deinit {
        send(SIGKILL)
    }

    /// What came of it, when it has ended.
    func outcome() async -> Outcome {
        Outcome(status: await ending(), output: await output.all(), errors: await errors.all())
    }

    /// Its exit status, or the negative number of the signal that killed it.
    func ending() async -> Int32 {
        await withCheckedContinuation { continuation in
            lock.lock()
            let status = status
            if status == nil { waiting.append(continuation) }
            lock.unlock()
            if let status { continuation.resume(returning: status) }
        }
    }

    func send(_ signal: Int32) {
        lock.lock()
        defer { lock.unlock() }
        if status == nil { process.send(signal) }
    }

    private func end(_ status: Int32) {
        lock.lock()
        self.status = status
        let woken = waiting
        waiting = []
        lock.unlock()
        for continuation in woken { continuation.resume(returning: status) }
    }
}

/// What came of a command.
struct Outcome {
    var status: Int32
    var output: [String]
    var errors: [String]
}

/// Runs the command to its end.
@discardableResult
func tidings(_ arguments: String..., in directory: CenterDirectory, input: String = "") async throws -> Outcome {
    try await Invocation(arguments, in: directory, input: input).outcome()
}

/// Has the core's peer leave that behind in the directory, mostly in a center called "scenario", and waits until it is
/// dead.
func leave(_ what: String, in directory: CenterDirectory) async throws {
    let arguments = ["--leave", what, "\(UInt32.random(in: 1...100_000))", directory.path]
    let peer = try Invocation(arguments, in: directory, executable: "ScenarioPeer")
    let status = await peer.ending()
    let errors = await peer.errors.all()
    #expect([0, -SIGKILL, -SIGSYS].contains(status) && errors.isEmpty, "\(status): \(errors)")
}

/// Starts `tidings observe` and returns when it says that it is registered.
func observe(_ arguments: String..., in directory: CenterDirectory, output: Int32? = nil) async throws -> Invocation {
    let invocation = try Invocation(["observe"] + arguments, in: directory, output: output)
    _ = await invocation.errors.first { $0.hasPrefix("tidings: observing") }
    return invocation
}

/// A line of `--format json`, or `{}`.
func object(_ line: String?) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data((line ?? "").utf8))) as? [String: Any] ?? [:]
}
