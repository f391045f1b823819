import Foundation
import Glibc

/// The processes that map a file, read from `/proc`.
///
/// A process of another user is not found: the kernel shows its mappings to root only.
struct MappingProcesses {
    struct Process {
        var pid: Int32
        var executable: String
    }

    let all: [Process]

    /// - Parameter path: a file that this process maps as well.
    init(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            all = []
            return
        }
        // The device number of a mapping may differ from that of `stat` (btrfs, overlayfs). So the number is read from
        // a mapping of this process.
        let own = Self.mappings(of: "self").filter { $0.inode == UInt64(status.st_ino) }
        let named = own.filter { $0.path == path }
        let devices = Set((named.isEmpty ? own : named).map(\.device))
        let pids = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
        all = pids.sorted().filter { pid in
            pid != getpid()
                && Self.mappings(of: String(pid)).contains {
                    $0.inode == UInt64(status.st_ino) && devices.contains($0.device)
                }
        }
        .map { Process(pid: $0, executable: Self.executable(of: $0)) }
    }

    private struct Mapping {
        var device: Substring
        var inode: UInt64
        var path: Substring
    }

    /// Parses lines such as `7f21c0000000-7f21c0200000 rw-s 00000000 00:17 4711      /dev/shm/file`.
    private static func mappings(of process: String) -> [Mapping] {
        // The kernel gives a few pages of such a file at a time, and no size.
        let maps = (try? contents(of: "/proc/\(process)/maps", upTo: .max)) ?? []
        return String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count == 6, let inode = UInt64(fields[4]), inode != 0 else { return nil }
            return Mapping(device: fields[3], inode: inode, path: fields[5].drop { $0 == " " })
        }
    }

    /// The name of a process's executable; empty if this user may not know it.
    static func executable(of pid: Int32) -> String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")) ?? ""
        return String(path.split(separator: "/").last ?? "")
    }
}
