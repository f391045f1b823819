import Foundation
import Glibc

/// What the kernel says of a process of this pid namespace, read from `/proc/<pid>/stat`.
struct ProcessActivity: Equatable {
    /// The state of its main thread: R, S, D, T, t, Z and others of proc(5).
    let state: Character
    /// The processor time of all its threads, in seconds.
    let processorTime: Double
    /// The name that the kernel shows, at most 15 bytes.
    let command: String

    /// - Returns: `nil` if there is no such process, or it may not be seen.
    init?(pid: Int32) {
        guard let bytes = try? contents(of: "/proc/\(pid)/stat", upTo: 4096) else { return nil }
        self.init(stat: String(decoding: bytes, as: UTF8.self))
    }

    /// - Parameter stat: the content of the file. The command's name may contain spaces and parentheses.
    init?(stat: String) {
        guard let begin = stat.firstIndex(of: "("), let end = stat.lastIndex(of: ")"), begin < end else { return nil }
        command = String(stat[stat.index(after: begin)..<end])
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        // Fields 14 and 15 of proc(5), in clock ticks. Field 3, the state, is the first one here.
        guard let state = fields.first?.first, fields.count > 12, let user = Double(fields[11]),
            let system = Double(fields[12])
        else { return nil }
        self.state = state
        processorTime = (user + system) / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Whether the process can be a participant with that executable. A pid of another pid namespace may belong to
    /// another process here.
    func fits(executable: String) -> Bool {
        !command.isEmpty && executable.utf8.starts(with: command.utf8)
    }
}
