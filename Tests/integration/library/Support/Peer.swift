import Foundation
import Glibc

@testable import Tidings

/// Another process: `TestPeer`, or another executable of this package. Its source lists the commands.
final class Peer: @unchecked Sendable {
    // Sendable: only the test that made it uses `Process`; lines arrive through `Events`.
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    let lines = Events<String>()
    let ended = Events<Int32>()

    /// - Parameter name: the name of another center in the same directory.
    convenience init(_ center: TestCenter, named name: String? = nil, _ commands: String...) throws {
        try self.init(executable: "TestPeer", arguments: [center.directory, name ?? center.name] + commands)
    }

    init(executable: String, arguments: [String]) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(executable)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        let ended = ended
        process.terminationHandler = { ended.add($0.terminationStatus) }
        try process.run()
        let lines = lines
        let reading = output.fileHandleForReading
        try WorkerThread {
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
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    }

    var pid: Int32 { process.processIdentifier }

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
        input.fileHandleForWriting.write(Data("\(line)\n".utf8))
    }

    func signal(_ signal: Int32) {
        Glibc.kill(pid, signal)
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
