import Glibc

/// A file without a name, for a number that must survive whoever writes it.
final class TemporaryFile {
    let descriptor: Int32

    init() throws {
        var template = Array("/tmp/tidings-demo-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Failure("can't make a file in /tmp", errno: errno) }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        close(descriptor)
    }

    /// What is written at its beginning; 0 if nothing is.
    var number: Int {
        var number: Int64 = 0
        return pread(descriptor, &number, MemoryLayout.size(ofValue: number), 0) == 8 ? Int(number) : 0
    }
}
