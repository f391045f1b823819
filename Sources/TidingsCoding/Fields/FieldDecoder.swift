/// Where generated code reads a message from, in one pass over the bytes. Public for it alone: see ``_FieldCodable``.
///
/// It takes and refuses what the library's `Decoder` does, with the same errors. An item that our own encoder would
/// have written in another form (another width, a tag, an indefinite length), or of a type that only `Codable` knows,
/// goes to that `Decoder`.
public struct _FieldDecoder: ~Copyable {
    /// At the next item.
    @usableFromInline var cursor: ByteCursor
    /// Maps and arrays around it.
    @usableFromInline var depth = 0
    /// Whether other processes can change the bytes meanwhile. This decoder passes over them once; `Codable`'s does
    /// not.
    @usableFromInline let isShared: Bool

    @inlinable @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer, isShared: Bool = false) {
        cursor = ByteCursor(bytes)
        self.isShared = isShared
    }

    /// A map that is being read, by ``nextField(in:of:)``.
    public struct Map {
        let start: Int
        /// Pairs that are left; below zero: until the stop.
        var left: Int
        /// The number of the field that comes next if poster and observer have the same struct, and its offset in the
        /// list of names.
        var expected = 0
        var cursor = 0
    }

    /// An array that is being read.
    @usableFromInline
    struct Elements {
        /// As in a map.
        var left: Int

        /// For reserving memory: a poster can claim any number.
        @usableFromInline var likelyCount: Int { max(0, min(left, 1024)) }
    }

    // MARK: Maps

    /// Begins to read a map.
    ///
    /// - Throws: as ``_FieldCodable/init(_decodingField:)``.
    public mutating func beginMap() throws -> Map {
        do throws(CBORFault) {
            return Map(start: cursor.offset, left: try enter(.map))
        } catch {
            throw error.error(expecting: [String: Any].self, path: [])
        }
    }

    /// Reads the next name. Returns the name's position in a list of names, or −1 for a name that is not in the list.
    /// `nil` at the end of the map.
    ///
    /// The value must be read, or passed over by ``skipValue()``, before the next call.
    ///
    /// - Parameters:
    ///   - map: the map, and how many of its fields are left.
    ///   - names: CBOR texts, one behind the other.
    /// - Throws: as ``_FieldCodable/init(_decodingField:)``.
    public mutating func nextField(in map: inout Map, of names: StaticString) throws -> Int? {
        guard try hasNext(&map.left) else { return nil }
        let list = PayloadBytes(names)
        if let first = list.byte(at: map.cursor) {
            // The head of a text of up to 23 bytes is that byte alone.
            let short = Int(first &- CBORMajor.text.initialByte)
            let size = short < 24 ? short &+ 1 : (list.quickEnd(at: map.cursor) ?? list.count) &- map.cursor
            if size <= list.count &- map.cursor, size <= cursor.bytes.count &- cursor.offset,
                cursor.bytes.equal(
                    UnsafeRawBufferPointer(start: list.base + map.cursor, count: size), from: cursor.offset,
                    to: cursor.offset &+ size)
            {
                // In bounds: compared with the list's and the payload's sizes right before.
                cursor.offset &+= size
                map.cursor &+= size
                map.expected &+= 1
                return map.expected &- 1
            }
        }
        return try findField(in: &map, of: list)
    }

    @inline(never)
    private mutating func findField(in map: inout Map, of names: PayloadBytes) throws -> Int {
        var key = try key(in: map)
        return try key.withUTF8 { key in
            var (index, place) = (0, 0)
            while place < names.count {
                let head = try names.head(at: place)
                place = try names.endOfString(head)
                if names.equal(UnsafeRawBufferPointer(key), from: head.end, to: place) {
                    map.expected = index + 1
                    map.cursor = place
                    return index
                }
                index += 1
            }
            return -1
        }
    }

    /// The next key, whatever it is; an integer as its digits. `nil` at the map's end.
    @usableFromInline
    mutating func nextKey(in map: inout Map) throws -> String? {
        try hasNext(&map.left) ? try key(in: map) : nil
    }

    private mutating func key(in map: Map) throws(CBORFault) -> String {
        guard let (name, end) = try cursor.bytes.key(at: cursor.offset) else { throw CBORFault(.keys, at: map.start) }
        cursor.offset = end
        return try name.string(in: cursor.bytes)
    }

    // MARK: Arrays

    @usableFromInline
    mutating func beginArray() throws -> Elements {
        do throws(CBORFault) {
            return Elements(left: try enter(.array))
        } catch {
            throw error.error(expecting: [Any].self, path: [])
        }
    }

    @usableFromInline mutating func nextElement(in array: inout Elements) throws -> Bool { try hasNext(&array.left) }

    // MARK: Both

    private mutating func enter(_ major: CBORMajor) throws(CBORFault) -> Int {
        let start = cursor.offset
        let head = try cursor.takeContent().head
        if head.isStop { throw CBORFault(.stop, at: start) }
        guard head.major == major else { throw .mismatch(head, at: UInt32(truncatingIfNeeded: start)) }
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: head.end) }
        depth &+= 1
        return try cursor.bytes.count(of: head)
    }

    @inline(__always)
    private mutating func hasNext(_ left: inout Int) throws(CBORFault) -> Bool {
        if left > 0 {
            left &-= 1
            return true
        }
        if left < 0, try !cursor.takeStop() { return true }
        depth &-= 1
        return false
    }

    /// The place of the next item.
    var place: CBORPlace { CBORPlace(offset: UInt32(truncatingIfNeeded: cursor.offset), span: 0) }
    // Offsets fit 31 bits, for the payload's size does: `PayloadCoding` compares it.

    // MARK: The long way

    /// Passes over the next item.
    ///
    /// - Throws: as ``_FieldCodable/init(_decodingField:)``.
    public mutating func skipValue() throws {
        if let end = cursor.bytes.quickEnd(at: cursor.offset) {
            cursor.offset = end
        } else {
            try another { (_, _) throws(CBORFault) in }
        }
    }

    /// Reads the next item as the library's `Decoder` does, after a scan of all of it.
    @inline(never)
    mutating func another<Value: CBORValue>() throws(CBORFault) -> Value {
        try another { (reader, place) throws(CBORFault) in try Value(from: reader, at: place) }
    }

    @inline(never)
    mutating func another<Value>(
        _ read: (CBORReader, CBORPlace) throws(CBORFault) -> Value
    ) throws(CBORFault) -> Value {
        let reader = CBORReader.begin(cursor.bytes.all, isShared: isShared)
        defer { reader.end() }
        let end = try CBORScanner(reader).end(ofItemAt: cursor.offset, depth: depth)
        let value = try read(reader, place)
        cursor.offset = end
        return value
    }

    @usableFromInline @inline(never)
    package mutating func decodeCodable<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let bytes = cursor.bytes.all
        if depth == 0 {
            // The whole payload. The cursor moves first: to move it afterwards would cost a copy of the value.
            cursor.offset = bytes.count
            return try CBORPayloadDecoder().decode(type, from: bytes, isShared: isShared)
        }
        let start = cursor.offset
        return try CBORPayloadDecoder().decode(
            type, from: bytes, isShared: isShared, at: start, depth: depth, end: &cursor.offset)
    }

    /// Throws unless everything has been read.
    @inlinable @inline(__always)
    package func finish() throws(CBORFault) {
        if !cursor.isAtEnd { throw CBORFault(.trailing, at: cursor.offset) }
    }
}
