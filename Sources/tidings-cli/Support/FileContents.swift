import ArgumentParser
import Glibc
import Tidings

/// Reads a file's bytes, at most `limit`. The file may be a pipe; `-` is standard input.
func contents(of path: String, upTo limit: Int) throws -> [UInt8] {
    let isInput = path == "-"
    let what = isInput ? "standard input" : path.printable
    let descriptor = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure("can't read \(what)", errno: errno) }
    defer { if !isInput { close(descriptor) } }
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while result.count < limit {
        let count = read(descriptor, &buffer, min(buffer.count, limit - result.count))
        if count > 0 {
            result += buffer[..<count]
        } else if count == 0 {
            break
        } else if errno != EINTR {
            throw Failure("can't read \(what)", errno: errno)
        }
    }
    return result
}

/// A payload from an option `--json`: the text itself, or standard input for `-`.
func jsonPayload(_ argument: String, upTo limit: Int) throws -> Center.RawPayload {
    guard argument == "-" else { return .json(argument) }
    let bytes = try contents(of: "-", upTo: limit)
    guard isJSON(bytes) else {
        let begin = String(decoding: bytes.prefix(80), as: UTF8.self)
        throw ValidationError("Standard input isn't JSON: \(begin.printable)")
    }
    return Center.RawPayload(format: .json, bytes: bytes)
}
