import Foundation
import Glibc

/// A file without a name, for a number that must survive its writer.
final class TemporaryFile {
    let descriptor: Int32

    init() throws {
        let directory = FileManager.default.temporaryDirectory.path
        var template = Array("\(directory)/tidings-demo-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        let error = errno
        guard descriptor >= 0 else { throw Failure("can't make a file in \(directory)", errno: error) }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        close(descriptor)
    }

    /// The path for other processes, while this one has the file open.
    var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// The number at the file's beginning; 0 if none was written.
    var number: Int {
        var number: Int64 = 0
        return pread(descriptor, &number, MemoryLayout.size(ofValue: number), 0) == 8 ? Int(number) : 0
    }
}
