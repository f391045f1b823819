/// One encoding: where the next byte goes, and the frames that are open.
///
/// Encoders and containers hold a pointer to a writer (`Handle`), because they are copied with every step that Codable
/// makes: counting references took longer than the encoding. A writer is never freed (see `CBORThreadCache`). A
/// container that outlives its encoding finds that its frame is gone, by the frame's serial. The output is read back
/// only to move it, for the path of an error, and to find a key that is encoded twice.
struct CBORWriter: CBORPooled, CBOROutput {
    typealias Handle = UnsafeMutablePointer<CBORWriter>
    // Valid for ever, and used by one thread at a time: that which took it from the cache. A call through the pointer
    // never leads to a user's code, which may come back through another handle.

    var next: Handle?

    /// The caller's variable, lent for the length of the encoding.
    var buffer: UnsafeMutablePointer<PayloadBuffer>?
    var base = PayloadBuffer.nowhere
    /// Where the next byte goes.
    var cursor = 0
    /// The end of the room at the cursor. Equal to `cursor` while inserting: every write moves the tail first.
    var limit = 0
    /// The end of the output while inserting; otherwise that is the cursor.
    var used = 0
    var isInserting = false

    /// The current frame, the one whose item ends at the cursor: what every entry needs of it.
    var current = Current(id: .idle)
    /// The keys of large maps that are being written, in the order of their frames.
    var keySets: ContiguousArray<CBORKeySet> = []

    var frames = CBORStack<CBORFrame>(capacity: 16)
    var lastSerial: UInt32 = 0

    /// The first failure that makes the output useless, kept in case the caller swallows it with `try?`.
    var failure: (any Error)?
    var userInfo: [CodingUserInfoKey: Any] = [:]

    struct Current {
        var id: CBORFrameID
        var start = 0
        var count = 0
        /// See `CBORFrame.keys`.
        var keys: UInt64 = 0

        var number: Int { Int(id.number) }
    }

    mutating func begin(_ buffer: UnsafeMutablePointer<PayloadBuffer>, userInfo: [CodingUserInfoKey: any Sendable]) {
        self.buffer = buffer
        if !userInfo.isEmpty { self.userInfo = userInfo }
        cursor = buffer.pointee.count
        adoptMemory()
    }

    /// Lets go of everything, so that a container that outlives the encoding finds no frame to write to.
    mutating func end() {
        buffer = nil
        base = PayloadBuffer.nowhere
        (cursor, limit, used, isInserting) = (0, 0, 0, false)
        if failure != nil { failure = nil }
        if !userInfo.isEmpty { userInfo = [:] }
        current = Current(id: .idle)
        if !keySets.isEmpty { keySets = [] }
        frames.count = 0
        frames.shrink(above: 1 << 10)
    }

    /// Remembers the first failure, to throw it at the end whatever becomes of it on the way.
    @discardableResult
    mutating func fail(_ error: any Error) -> any Error {
        if failure == nil { failure = error }
        return error
    }

    /// The end of the output, wherever the cursor is.
    var outputEnd: Int { isInserting ? used : cursor }

    @inline(__always)
    mutating func room(_ size: Int) throws -> UnsafeMutableRawPointer {
        // `limit >= cursor >= 0`, so the difference can't overflow.
        if limit - cursor < size { try makeRoom(size) }
        let room = base + cursor
        // In bounds: `cursor + size <= limit`, the bytes the buffer's owner vouched for.
        cursor += size
        return room
    }

    @inline(never)
    private mutating func makeRoom(_ size: Int) throws {
        if !isInserting { return try reserve(size) }
        try open(size, at: cursor)
        cursor -= size
        limit = cursor + size
    }

    /// Grows the memory so that `size` more bytes fit behind the output.
    private mutating func reserve(_ size: Int) throws {
        defer { adoptMemory() }
        do { try buffer?.pointee.reserve(size, behind: outputEnd) } catch { throw fail(error) }
    }

    private mutating func adoptMemory() {
        base = buffer?.pointee.base ?? PayloadBuffer.nowhere
        setLimit()
    }

    private mutating func setLimit() { limit = isInserting ? cursor : max(cursor, buffer?.pointee.memory.count ?? 0) }

    /// Only with `used` and the frames' ends settled.
    mutating func moveCursor(to position: Int) {
        cursor = position
        isInserting = position != used
        setLimit()
    }

    // MARK: Moving output

    /// Moves everything from `position` on by `size` bytes, and with it the cursor and the frames.
    mutating func open(_ size: Int, at position: Int) throws {
        try reserve(size)
        move(from: position, by: size)
    }

    /// Takes back what was written between `position` and the cursor.
    mutating func takeBack(to position: Int) {
        if isInserting {
            move(from: cursor, by: position - cursor)
        } else {
            cursor = position
        }
    }

    /// Moves the output from `position` up to its end, and the cursor, which is there or behind. Before the end there
    /// is room, or as many bytes as the output moves back by.
    mutating func move(from position: Int, by size: Int) {
        (base + position + size).copyMemory(from: base + position, byteCount: outputEnd - position)
        // In bounds: see above. `copyMemory` allows the overlap.
        shift(from: position, by: size)
        cursor += size
        if isInserting {
            used += size
            limit = cursor
        }
    }

    /// Accounts for `size` bytes that appeared at `position`, or vanished before it.
    private mutating func shift(from position: Int, by size: Int) {
        // The current frame and those around it contain the position. A frame that begins exactly there is a later one.
        var chain = current.number
        for number in (0..<frames.count).reversed() {
            if number == chain {
                frames[number].end += size
                chain = frames[number].parent
            } else if frames[number].start >= position {
                frames[number].start += size
                frames[number].end += size
            }
        }
        // A parent is always made before its children, so counting down meets the chain in order.
        current.start = frames[current.number].start
    }
}
