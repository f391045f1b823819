import Glibc

/// Whoever read our standard output has gone away.
struct BrokenPipe: Error {}

/// Writing lines, at once and whole: what is printed must be seen before the next thing is waited for.
enum Terminal {
    /// Writes a line to standard output.
    static func print(_ line: String) throws {
        try write(Array((line + "\n").utf8))
    }

    /// Writes bytes to standard output as they are.
    static func write(_ bytes: [UInt8]) throws {
        switch bytes.withUnsafeBytes({ writeAll($0, to: STDOUT_FILENO) }) {
        case 0: return
        case EPIPE: throw BrokenPipe()
        case let code: throw Failure("can't write to standard output", errno: code)
        }
    }

    /// Writes a line about this command to standard error; if that isn't possible there is nobody left to tell.
    static func note(_ line: String) {
        let bytes = Array("tidings: \(line.printable)\n".utf8)
        _ = bytes.withUnsafeBytes { writeAll($0, to: STDERR_FILENO) }
    }

    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

    /// - Returns: 0 or an errno.
    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if written >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if errno == EAGAIN {
                // Somebody who shares the terminal or pipe made it non-blocking.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
