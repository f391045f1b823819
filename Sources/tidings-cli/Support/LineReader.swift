import Glibc

/// Reads standard input line by line. A line ends with LF or CR LF; the last one may lack it.
struct LineReader {
    /// How many bytes a line may have. Input without line ends does not fill the memory.
    let limit: Int
    private(set) var number = 0
    private var buffer: [UInt8] = []
    private var start = 0
    private var hasEnded = false

    init(limit: Int) {
        self.limit = limit
    }

    /// The next line without its end; `nil` after the last one.
    mutating func next() throws -> ArraySlice<UInt8>? {
        var known = start
        while true {
            if let end = buffer[known...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                number += 1
                let line = buffer[start..<end]
                return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            }
            if hasEnded {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                number += 1
                return buffer[start...]
            }
            guard buffer.count - start <= limit else {
                throw Failure("can't read line \(number + 1) of standard input: it has more than \(limit) bytes")
            }
            buffer.removeFirst(start)
            (start, known) = (0, buffer.count)
            if try read(STDIN_FILENO, appendingTo: &buffer, named: "standard input") == 0 { hasEnded = true }
        }
    }
}
