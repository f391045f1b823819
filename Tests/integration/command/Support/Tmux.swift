import ChildProcesses
import Foundation
import Glibc

@testable import tidings

/// A terminal of tmux, with a server of its own, whose screen can be read. The server is killed with this object.
final class Tmux: Sendable {
    /// The path of tmux; `nil`: it is not installed.
    static let path: String? = ["/usr/bin/tmux", "/usr/local/bin/tmux", "/bin/tmux"].first { (path: String) in
        access(path, X_OK) == 0
    }

    /// In seconds; it only ends a test that hangs.
    private static let limit = 300.0

    private let directory: CenterDirectory
    private var socket: String { directory.path + "/tmux" }

    /// Starts a command in a terminal of that size. Its exit status is shown when it has ended.
    init(_ command: String, in directory: CenterDirectory, width: Int, height: Int) throws {
        self.directory = directory
        let line = "TIDINGS_DIRECTORY=\(directory.path) \(command); echo \"ended with $?\"; exec cat"
        // Without a configuration of this user. The status line would take a line of the terminal.
        try run([
            "-f", "/dev/null", "new-session", "-d", "-x", "\(width)", "-y", "\(height)", "sh", "-c", line, ";",
            "set", "-g", "status", "off", ";", "resize-window", "-x", "\(width)", "-y", "\(height)",
        ])
    }

    deinit {
        _ = try? run(["kill-server"])
    }

    /// What the terminal shows, a text for each line, without spaces at the ends.
    func screen() throws -> [String] {
        try run(["capture-pane", "-p"]).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    func press(_ keys: String...) throws {
        try run(["send-keys"] + keys)
    }

    func resize(_ width: Int, _ height: Int) throws {
        try run(["resize-window", "-x", "\(width)", "-y", "\(height)"])
    }

    /// Waits until the screen satisfies a condition. tmux reports no change, so this asks it again and again.
    ///
    /// - Returns: the screen; the latest one if it did not come to that within the limit.
    func screen(where isReached: ([String]) -> Bool) async throws -> [String] {
        let end = monotonicSeconds() + Self.limit
        while true {
            let lines = try screen()
            if isReached(lines) || monotonicSeconds() > end { return lines }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @discardableResult
    private func run(_ arguments: [String]) throws -> String {
        let output = try PipeEnds()
        let child: ChildProcess
        do {
            defer { close(output.writing) }
            child = try ChildProcess.start(
                Self.path ?? "/usr/bin/tmux", ["-u", "-S", socket] + arguments,
                environment: ["TMUX": "", "LC_ALL": "C.UTF-8"], output: output.writing, keepsOthers: false)
        } catch {
            close(output.reading)
            throw error
        }
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = read(output.reading, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        close(output.reading)
        let ending = child.waitUntilEnded()
        guard ending == .exited(0) else { throw Failure("tmux \(arguments.first ?? "") \(ending)") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
