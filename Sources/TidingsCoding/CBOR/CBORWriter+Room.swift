extension CBORWriter {
    /// Makes room for exactly `size` bytes at the cursor, and moves the cursor behind them. The caller writes all of
    /// them.
    @inline(__always)
    func room(_ size: Int) throws -> UnsafeMutableRawPointer {
        // `limit >= cursor >= 0`, so the difference can't overflow.
        if limit - cursor < size { try makeRoom(size) }
        let room = base + cursor
        // In bounds: `cursor + size <= limit`, the bytes the buffer's owner vouched for.
        cursor += size
        return room
    }

    @inline(never)
    private func makeRoom(_ size: Int) throws {
        if isInserting {
            try open(size, at: cursor)
            cursor -= size
            limit = cursor + size
        } else {
            try reserve(size)
        }
    }

    /// Grows the memory so that `size` more bytes fit behind the output.
    private func reserve(_ size: Int) throws {
        let end = isInserting ? used : cursor
        do {
            let (needed, overflow) = end.addingReportingOverflow(size)
            if overflow { throw PayloadBufferFull(needed: .max, capacity: capacity) }
            try buffer?.pointee.reserve(used: end, needed: needed)
            // The caller's own variable, lent to the writer for the length of the encoding.
            adoptMemory()
        } catch {
            adoptMemory()
            throw fail(error)
        }
    }

    func adoptMemory() {
        base = buffer?.pointee.base ?? CBORWriter.nowhere
        limit = isInserting ? cursor : max(cursor, capacity)
    }

    /// Moves everything from `position` on by `size` bytes, and with it the cursor and the frames.
    func open(_ size: Int, at position: Int) throws {
        try reserve(size)
        let end = isInserting ? used : cursor
        (base + position + size).copyMemory(from: base + position, byteCount: end - position)
        // In bounds: `reserve` made room for `end + size` bytes, and `copyMemory` allows the overlap.
        shift(from: position, by: size)
        cursor += size
        if isInserting {
            used += size
            limit = cursor
        }
    }

    /// Takes back what was written between `position` and the cursor.
    func takeBack(to position: Int) {
        let size = cursor - position
        if isInserting {
            (base + position).copyMemory(from: base + cursor, byteCount: used - cursor)
            // In bounds: `position <= cursor <= used`, all within the memory.
            shift(from: cursor, by: -size)
            used -= size
            cursor = position
            limit = cursor
        } else {
            cursor = position
        }
    }

    /// Remembers the first failure, to throw it at the end whatever becomes of it on the way.
    @discardableResult
    func fail(_ error: any Error) -> any Error {
        if failure == nil { failure = error }
        return error
    }
}
