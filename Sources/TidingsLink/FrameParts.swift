// Frames that are larger than what a transport takes at once, as parts.
//
// A frame that fits is sent as it is. A part is: the byte 0xA8, the frame's number (8 bytes), the part's index and the
// number of parts (4 bytes each), and bytes of the frame. A frame of which a part is lost is lost: S2 repairs that.

package struct FrameSplitter: Sendable {
    static let format: UInt8 = 0xA8
    static let header = 17

    /// Bytes that the transport takes at once, at least 64.
    private let maximum: Int
    private var number: UInt64

    /// - Parameter number: of the first split frame. Two relays that begin one after the other use different ones.
    package init(maximum: Int, number: UInt64) {
        self.maximum = max(64, maximum)
        self.number = number
    }

    package mutating func parts(of frame: [UInt8]) -> [[UInt8]] {
        if frame.count <= maximum { return [frame] }
        number &+= 1
        let size = maximum - Self.header
        let count = (frame.count + size - 1) / size
        return (0..<count).map { index in
            var part = [Self.format]
            part.reserveCapacity(maximum)
            append(number, bytes: 8, to: &part)
            append(UInt64(index), bytes: 4, to: &part)
            append(UInt64(count), bytes: 4, to: &part)
            part.append(contentsOf: frame[(index * size)..<min(frame.count, (index + 1) * size)])
            return part
        }
    }

    private func append(_ number: UInt64, bytes: UInt64, to part: inout [UInt8]) {
        for byte in 0..<bytes { part.append(UInt8(truncatingIfNeeded: number >> (8 * byte))) }
    }
}

/// Puts frames together again. Holds the parts of one frame, at most `limit` bytes.
package struct FrameJoiner: Sendable {
    private let limit: Int
    private var number: UInt64 = 0
    private var next = 0
    private var bytes: [UInt8] = []

    package init(limit: Int) {
        self.limit = limit
    }

    /// What a transport has received. Returns a whole frame; `nil`: parts are missing, or are out of order.
    package mutating func frame(from part: [UInt8]) -> [UInt8]? {
        guard part.first == FrameSplitter.format else { return part.count <= limit ? part : nil }
        guard part.count > FrameSplitter.header else { return nil }
        let (number, index, count) = (field(1, 8, part), Int(field(9, 4, part)), Int(field(13, 4, part)))
        if index == 0 {
            self.number = number
            next = 0
            bytes = []
            #if MUTANT_PART_COUNT_TRUSTED  // Found by: fuzz link
                if isMutant("PART_COUNT_TRUSTED") { bytes.reserveCapacity(count * part.count) }
            #endif
        }
        guard number == self.number, index == next, index < count,
            bytes.count + part.count - FrameSplitter.header <= limit
        else {
            // Part 0 begins again.
            next = .max
            bytes = []
            return nil
        }
        bytes.append(contentsOf: part[FrameSplitter.header...])
        next += 1
        guard next == count else { return nil }
        defer {
            bytes = []
            next = .max
        }
        return bytes
    }

    private func field(_ offset: Int, _ count: Int, _ part: [UInt8]) -> UInt64 {
        (0..<count).reduce(0) { $0 | UInt64(part[offset + $1]) << (8 * UInt64($1)) }
    }
}
