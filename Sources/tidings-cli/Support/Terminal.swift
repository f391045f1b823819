import Glibc

/// The program that reads the standard output has ended.
struct BrokenPipe: Error {}

/// Writes lines whole and without a buffer: each line must be visible before the command waits again.
enum Terminal {
    /// Writes a line to standard output.
    static func print(_ line: String) throws {
        try write(Array((line + "\n").utf8))
    }

    /// Writes bytes to standard output unchanged.
    static func write(_ bytes: [UInt8]) throws {
        try write(bytes[...], to: (STDOUT_FILENO, "standard output"))
    }

    /// Writes bytes to a file or a pipe, which errors name.
    static func write(_ bytes: ArraySlice<UInt8>, to target: (descriptor: Int32, name: String)) throws {
        switch bytes.withUnsafeBytes({ writeAll($0, to: target.descriptor) }) {
        case 0: return
        case EPIPE: throw BrokenPipe()
        case let code: throw Failure("can't write to \(target.name)", errno: code)
        }
    }

    /// Writes a line about this command to standard error. A failure is ignored, because it cannot be reported.
    static func note(_ line: String) {
        let bytes = Array("tidings: \(line.printable)\n".utf8)
        _ = bytes.withUnsafeBytes { writeAll($0, to: STDERR_FILENO) }
    }

    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes all bytes.
    ///
    /// - Returns: 0 or an errno.
    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if written >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if errno == EAGAIN {
                // Another process that shares the terminal or pipe has made it non-blocking.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
