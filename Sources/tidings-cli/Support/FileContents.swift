import Glibc

/// Reads a file's bytes, at most `limit`. The file may be a pipe.
func contents(of path: String, upTo limit: Int) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure("can't read \(path)", errno: errno) }
    defer { close(descriptor) }
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while result.count < limit {
        let count = read(descriptor, &buffer, min(buffer.count, limit - result.count))
        if count > 0 {
            result += buffer[..<count]
        } else if count == 0 {
            break
        } else if errno != EINTR {
            throw Failure("can't read \(path)", errno: errno)
        }
    }
    return result
}
