import ArgumentParser
import Glibc
import Tidings

/// Appends what the descriptor has, at most `room` bytes. Waits until there is something.
///
/// - Returns: how many bytes; 0 at the end.
func read(_ descriptor: Int32, appendingTo buffer: inout [UInt8], room: Int = 65_536, named name: String) throws -> Int
{
    while true {
        var (count, code) = (0, Int32(0))
        buffer += [UInt8](unsafeUninitializedCapacity: room) { space, filled in
            count = Glibc.read(descriptor, space.baseAddress, room)
            code = errno
            filled = max(0, count)
        }
        if count >= 0 { return count }
        switch code {
        case EINTR: continue
        case EAGAIN:
            // Another process that shares the terminal or pipe has made it non-blocking.
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&waiting, 1, -1)
        default: throw Failure("can't read \(name)", errno: code)
        }
    }
}

/// Reads a file's bytes, at most `limit`. The file may be a pipe; `-` is standard input.
func contents(of path: String, upTo limit: Int) throws -> [UInt8] {
    let isInput = path == "-"
    let what = isInput ? "standard input" : path.printable
    let descriptor = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure("can't read \(what)", errno: errno) }
    defer { if !isInput { close(descriptor) } }
    var result: [UInt8] = []
    while result.count < limit {
        let room = min(65_536, limit - result.count)
        if try read(descriptor, appendingTo: &result, room: room, named: what) == 0 { break }
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
