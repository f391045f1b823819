import ChildProcesses
import Foundation
import Glibc

@testable import Tidings

/// Another process: `TestPeer`, or another executable of this package. Its source lists the commands.
///
/// Foundation's `Process` is not used: it learns of an end by a socket. A child that another thread starts meanwhile
/// keeps that socket open.
final class Peer: @unchecked Sendable {
    // Sendable: nothing changes after the initializer, and any thread may write to a `FileHandle`.
    private let process: ChildProcess
    private let input: FileHandle
    private let hasEnded = Locked(false)
    let lines = Events<String>()
    let ended = Events<Int32>()

    /// - Parameter name: the name of another center in the same directory.
    convenience init(_ center: TestCenter, named name: String? = nil, _ commands: String...) throws {
        try self.init(executable: "TestPeer", arguments: [center.directory, name ?? center.name] + commands)
    }

    init(executable: String, arguments: [String]) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(executable).path
        let (inputs, outputs) = (try PipeEnds(), try PipeEnds())
        input = FileHandle(fileDescriptor: inputs.writing, closeOnDealloc: true)
        let reading = FileHandle(fileDescriptor: outputs.reading, closeOnDealloc: true)
        defer { for end in [inputs.reading, outputs.writing] { close(end) } }
        process = try ChildProcess.start(
            path, arguments, input: inputs.reading, output: outputs.writing, keepsOthers: false)
        try WorkerThread { [process, hasEnded, ended] in
            // The pid is this process's until `waitUntilEnded`, so that `deinit` kills no other process.
            process.waitKeepingPid()
            hasEnded.withLock { $0 = true }
            switch process.waitUntilEnded() {
            case .exited(let status): ended.add(status)
            case .killed(let signal): ended.add(signal)
            }
        }.detach()
        try WorkerThread { [lines] in
            var rest = Data()
            while true {
                let data = reading.availableData
                if data.isEmpty { return }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.add(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                    rest = rest[(end + 1)...]
                }
            }
        }.detach()
    }

    deinit {
        hasEnded.withLock { if !$0 { process.send(SIGKILL) } }
    }

    var pid: Int32 { process.pid }

    /// Waits for the `count`th line of the process, and returns it.
    func line(_ count: Int = 1) async -> String {
        await lines.wait(for: count)[count - 1]
    }

    /// Waits for a line, and returns the lines before it.
    func lines(through last: String) async -> [String] {
        var all: [String] = []
        while true {
            if let index = all.firstIndex(of: last) { return Array(all[..<index]) }
            all = await lines.wait(for: all.count + 1)
        }
    }

    func send(_ line: String = "") {
        input.write(Data("\(line)\n".utf8))
    }

    func signal(_ signal: Int32) {
        process.send(signal)
    }

    func waitForEnd() async {
        await ended.wait(for: 1)
    }

    /// Waits until the kernel reports that the process is stopped.
    func waitUntilStopped() throws {
        while true {
            let status = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            if status[status.lastIndex(of: ")")!...].dropFirst(2).first == "T" { return }
            sched_yield()
        }
    }
}
