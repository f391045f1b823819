import ChildProcesses
import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// A directory for the centers of one test. It is removed with this object.
final class CenterDirectory: Sendable {
    let path: String

    init() throws {
        path = "/dev/shm/tidings-cli-tests-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        // Set independently of the umask: the library refuses a directory that a group may write to.
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The center that the command opens under that name.
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

/// A process of the real command. It is killed when the last reference to this object ends.
final class Invocation: @unchecked Sendable {
    // Sendable: `waiting` and `status` are accessed only while the lock is held.
    let process: ChildProcess
    let output: Lines
    let errors: Lines
    private let lock = NSLock()
    private var waiting: [CheckedContinuation<Int32, Never>] = []
    private var status: Int32?

    /// In seconds: then the process is killed. Long enough for sanitizers on a busy machine; it only ends a hang.
    private static let limit = 600

    /// The path of an executable of this package.
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
            output: output ?? outputs.writing, errors: errorOutputs.writing, keepsOthers: false)
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

    /// Waits for the end of the process, and returns its outcome.
    func outcome() async -> Outcome {
        Outcome(status: await ending(), output: await output.all(), errors: await errors.all())
    }

    /// The exit status, or the negative number of the signal that killed the process.
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

/// The exit status and the output of a command.
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

/// Makes the core's peer leave orphans or stale files of that kind in the directory, mostly in a center named
/// "scenario", and waits until the peer is dead.
func leave(_ what: String, in directory: CenterDirectory) async throws {
    let arguments = ["--leave", what, "\(UInt32.random(in: 1...100_000))", directory.path]
    let peer = try Invocation(arguments, in: directory, executable: "ScenarioPeer")
    let status = await peer.ending()
    let errors = await peer.errors.all()
    #expect([0, -SIGKILL, -SIGSYS].contains(status) && errors.isEmpty, "\(status): \(errors)")
}

/// Starts `tidings observe` and returns when it reports that it is registered.
func observe(_ arguments: String..., in directory: CenterDirectory, output: Int32? = nil) async throws -> Invocation {
    let invocation = try Invocation(["observe"] + arguments, in: directory, output: output)
    _ = await invocation.errors.first { $0.hasPrefix("tidings: observing") }
    return invocation
}

/// The object of a line of `--format json`; empty if the line is no object.
func object(_ line: String?) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data((line ?? "").utf8))) as? [String: Any] ?? [:]
}
