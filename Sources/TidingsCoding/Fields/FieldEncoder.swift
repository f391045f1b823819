/// Where generated code writes a message to, straight into what is posted. Public for it alone: see ``_FieldCodable``.
public struct _FieldEncoder: ~Copyable, CBOROutput {
    // The buffer's memory, the offset of the next byte, and the end of the room there is.
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var cursor: Int
    @usableFromInline var limit: Int
    /// Pairs of the map that is being written.
    @usableFromInline var pairs = 0
    /// Maps and arrays around the next item.
    @usableFromInline var depth = 0
    /// The caller's variable, lent for the length of the encoding.
    @usableFromInline let buffer: UnsafeMutablePointer<PayloadBuffer>

    @inlinable @inline(__always)
    package init(_ buffer: UnsafeMutablePointer<PayloadBuffer>) {
        self.buffer = buffer
        cursor = buffer.pointee.count
        base = buffer.pointee.base
        limit = buffer.pointee.memory.count
    }

    /// A map that has been begun, for ``endMap(_:)``.
    public struct Map {
        @usableFromInline let start: Int
        /// Pairs of the map around it.
        @usableFromInline let outerPairs: Int

        @inlinable
        init(start: Int, outerPairs: Int) {
            self.start = start
            self.outerPairs = outerPairs
        }
    }

    // MARK: Room

    /// Makes room for `size` bytes, all of which must be written.
    @inlinable @inline(__always)
    mutating func room(_ size: Int) throws -> UnsafeMutableRawPointer {
        // `limit >= cursor >= 0`, so the difference can't overflow.
        if limit &- cursor < size { try grow(size) }
        let room = base + cursor
        // In bounds: `cursor + size <= limit`, the bytes the buffer's owner vouched for.
        cursor &+= size
        return room
    }

    @usableFromInline @inline(never)
    mutating func grow(_ size: Int) throws {
        defer { adoptMemory() }
        try buffer.pointee.reserve(size, behind: cursor)
    }

    private mutating func adoptMemory() {
        base = buffer.pointee.base
        limit = buffer.pointee.memory.count
    }

    // MARK: Maps and arrays

    /// Begins a map. The number of its pairs need not be known yet.
    ///
    /// - Throws: as ``_FieldCodable/_encodeField(to:)``.
    @inlinable
    public mutating func beginMap() throws -> Map {
        try enter()
        let map = Map(start: cursor, outerPairs: pairs)
        try write(.map, 0)
        pairs = 0
        return map
    }

    /// Ends the map that was begun last.
    ///
    /// - Throws: as ``_FieldCodable/_encodeField(to:)``.
    @inlinable
    public mutating func endMap(_ map: Map) throws {
        if pairs < 24 {
            base.storeBytes(
                of: CBORMajor.map.initialByte | UInt8(truncatingIfNeeded: pairs), toByteOffset: map.start,
                as: UInt8.self)
            // In bounds: where `beginMap` made room for it.
        } else {
            try endLongMap(map)
        }
        pairs = map.outerPairs
        depth &-= 1
    }

    /// Its head takes more than the byte that was left for it.
    @usableFromInline @inline(never)
    mutating func endLongMap(_ map: Map) throws {
        let count = UInt64(truncatingIfNeeded: pairs)
        let growth = CBORHead.size(count) - 1
        let end = cursor
        _ = try room(growth)
        let first = map.start + 1
        (base + first + growth).copyMemory(from: base + first, byteCount: end - first)
        // In bounds: room for as many more has been made; `copyMemory` allows the overlap.
        CBORHead.put(.map, count, at: base + map.start)
    }

    /// Writes the head of an array.
    @inlinable
    mutating func beginArray(_ count: Int) throws {
        try enter()
        try write(.array, UInt64(truncatingIfNeeded: count))
    }

    @inlinable mutating func endArray() { depth &-= 1 }

    @inlinable @inline(__always)
    mutating func enter() throws {
        if depth >= CBORLimit.depth { try refuseDepth() }
        depth &+= 1
    }

    @usableFromInline @inline(never) func refuseDepth() throws { throw CBORMisuse.tooDeep.error(path: []) }

    // MARK: What Codable has to be asked for

    @usableFromInline @inline(never)
    package mutating func encodeCodable<Value: Encodable>(_ value: Value) throws {
        buffer.pointee.count = cursor
        defer {
            cursor = buffer.pointee.count
            adoptMemory()
        }
        try CBORPayloadEncoder().encode(value, into: &buffer.pointee, depth: depth)
    }

    /// Finishes: the buffer holds what has been written, or what it held before.
    @inlinable @inline(__always) package consuming func finish() { buffer.pointee.count = cursor }
}

// What generated code calls. Small and inlinable, so that a struct's coder becomes straight code in the struct's
// module.
extension _FieldEncoder {
    /// Writes a field: its name, and the value.
    ///
    /// - Throws: as ``_FieldCodable/_encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: _FieldCodable>(_ value: Value, for name: StaticString) throws {
        try writeName(name)
        do { try value._encodeField(to: &self) } catch { throw FieldPath.error(error, at: name) }
    }

    /// Writes a field unless it is `nil`, as `encodeIfPresent` does.
    ///
    /// - Throws: as ``_FieldCodable/_encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: _FieldCodable>(_ value: Value?, for name: StaticString) throws {
        if let value { try encode(value, for: name) }
    }

    /// Writes a field of a type that only `Codable` knows.
    ///
    /// - Throws: as ``_FieldCodable/_encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: Encodable>(_ value: Value, for name: StaticString) throws {
        try writeName(name)
        do { try encodeCodable(value) } catch { throw FieldPath.error(error, at: name) }
    }

    /// Writes a field of a type that only `Codable` knows, unless it is `nil`.
    ///
    /// - Throws: as ``_FieldCodable/_encodeField(to:)``.
    @inlinable
    public mutating func encode<Value: Encodable>(_ value: Value?, for name: StaticString) throws {
        if let value { try encode(value, for: name) }
    }

    @inlinable @inline(__always)
    mutating func writeName(_ name: StaticString) throws {
        pairs &+= 1
        let count = name.utf8CodeUnitCount
        guard count < 24 else { return try writeText(UnsafeRawBufferPointer(start: name.utf8Start, count: count)) }
        let place = try room(count &+ 1)
        place.storeBytes(of: CBORMajor.text.initialByte | UInt8(truncatingIfNeeded: count), as: UInt8.self)
        (place + 1).copyMemory(from: name.utf8Start, byteCount: count)
        // In bounds: 1 + count bytes of room. A string literal is a pointer, also that of a lone character.
    }

    @usableFromInline mutating func writeText(_ text: UnsafeRawBufferPointer) throws { try write(.text, bytes: text) }
    @usableFromInline mutating func writeText(_ text: String) throws { try write(text) }
}
